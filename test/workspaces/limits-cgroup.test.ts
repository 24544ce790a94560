import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { newCgroup } from '../../src/workspaces/cgroup.ts'

const QUOTA = { diskBytes: 1, memoryBytes: 1_000_000, processes: 10 }

/** A copy of the kernel's file layout; enforcing the limits is the kernel's part. */
function groups(controllers: string) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cgroup-'))
  mkdirSync(join(folder, 'services', 'server'), { recursive: true })
  writeFileSync(join(folder, 'self'), '4:memory:/old\n0::/services/server\n')
  writeFileSync(join(folder, 'services', 'cgroup.subtree_control'), `${controllers}\n`)
  return folder
}

test('where the controllers are delegated, a sandbox has a cgroup with its limits', (context) => {
  const folder = groups('cpu memory pids')
  context.after(() => rmSync(folder, { recursive: true }))
  newCgroup('conv-1', QUOTA, folder, join(folder, 'self'))!.add(4711)
  const read = (name: string) => readFileSync(join(folder, 'services', 'holdfast-conv-1', name), 'utf8')
  assert.deepEqual([read('cgroup.procs'), read('pids.max')], ['4711', '72'])
  assert.ok(Number(read('memory.max')) > QUOTA.memoryBytes)
})

test('where the controllers are not delegated, no cgroup is created', (context) => {
  const folder = groups('cpu')
  context.after(() => rmSync(folder, { recursive: true }))
  assert.equal(newCgroup('conv-1', QUOTA, folder, join(folder, 'self')), undefined)
  assert.equal(newCgroup('conv-1', QUOTA, folder, join(folder, 'nowhere')), undefined)
})

test('cgroup version 1 limits the number of processes only', (context) => {
  const folder = groups('cpu')
  context.after(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, 'pids', 'mine'), { recursive: true })
  writeFileSync(join(folder, 'pids', 'mine', 'cgroup.procs'), '')
  writeFileSync(join(folder, 'self'), '8:pids:/mine\n0::/\n')
  newCgroup('conv-1', QUOTA, folder, join(folder, 'self'))!.add(4711)
  const place = join(folder, 'pids', 'mine', 'holdfast-conv-1')
  assert.deepEqual(readdirSync(place).sort(), ['cgroup.procs', 'pids.max'])
})
