import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFullRun } from '../../harness/case-count.ts'
import { byFileSize, byPages, bySmallDisk, type Filling, runDiskFull } from './disk-full.ts'

const SEED = Number(process.env.SEED ?? 1)

const FILLINGS: Record<string, Filling> = {
  'a database at its last page': byPages,
  'a file-size limit': byFileSize,
  'a small disk': bySmallDisk,
}

for (const [name, filling] of Object.entries(FILLINGS).slice(0, isFullRun ? undefined : 1)) {
  const { skip } = filling
  test(`${name}: sends are refused clearly, and with free space every run continues and ends`, { skip }, async () => {
    const { refusal, check } = await runDiskFull(filling, { seed: SEED, kill: 'never' })
    assert.equal(refusal.fault, 'full')
    assert.match(refusal.text!, /holdfast\.db.*disk is full.*free some space/is)
    assert.deepEqual(check.violations, [])
    assert.ok(check.accepted > 0, 'the load was there')
  })
}

test('a process killed while the disk is full leaves no partial write', { skip: bySmallDisk.skip }, async () => {
  const { check } = await runDiskFull(bySmallDisk, { seed: SEED + 1, kill: 'while-full' })
  assert.deepEqual(check.violations, [])
})
