import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { CLIENT_CONTRACT } from './client-contract.ts'

test('each behavior of the client contract has a test that names its number', () => {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  const named = new Set<number>()
  for (const file of globSync('*.ts', { cwd: folder, exclude: ['client-contract.ts'] }))
    for (const [, numbers] of readFileSync(`${folder}/${file}`, 'utf8').matchAll(/\(client ([\d, ]+)\)/g))
      for (const number of numbers!.split(',')) named.add(Number(number))
  const all = CLIENT_CONTRACT.map((_, index) => index + 1)
  assert.deepEqual(
    [...named].toSorted((one, other) => one - other),
    all,
  )
})
