import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/** The behaviors of the official client's contract that the server answers for. */
const LAST = 38

test(`each of the ${LAST} behaviors the official client relies on has a test that names it`, () => {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const named = new Set<number>()
  for (const file of globSync('*.ts', { cwd: folder }))
    for (const [, numbers] of readFileSync(`${folder}/${file}`, 'utf8').matchAll(/\(behaviors? ([\d, ]+)\)/g))
      for (const number of numbers!.split(',')) named.add(Number(number))
  const missing = Array.from({ length: LAST }, (_, index) => index + 1).filter((number) => !named.has(number))
  assert.deepEqual(missing, [])
})
