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
  newCgroup('conv-1', QUOTA, { root: folder, self: join(folder, 'self') })!.add(4711)
  const read = (name: string) => readFileSync(join(folder, 'services', 'holdfast', 'holdfast-conv-1', name), 'utf8')
  assert.deepEqual([read('cgroup.procs'), read('pids.max'), read('cpu.weight')], ['4711', '72', '100'])
  assert.equal(read('memory.swap.max'), '0')
  assert.equal(read('../cgroup.subtree_control'), '+memory +pids +cpu')
  assert.ok(Number(read('memory.max')) > QUOTA.memoryBytes)
})

test('where the controllers are not delegated, no cgroup is created', (context) => {
  const folder = groups('cpu')
  context.after(() => rmSync(folder, { recursive: true }))
  assert.equal(newCgroup('conv-1', QUOTA, { root: folder, self: join(folder, 'self') }), undefined)
  assert.equal(newCgroup('conv-1', QUOTA, { root: folder, self: join(folder, 'nowhere') }), undefined)
})

test('cgroup version 1 limits memory, processes and processor time, each where its controller is writable', (context) => {
  const folder = groups('cpu')
  context.after(() => rmSync(folder, { recursive: true }))
  for (const controller of ['pids', 'memory', 'cpu']) {
    mkdirSync(join(folder, controller, 'mine'), { recursive: true })
    writeFileSync(join(folder, controller, 'mine', 'cgroup.procs'), '')
  }
  writeFileSync(join(folder, 'self'), '8:pids:/mine\n5:memory:/mine\n4:cpu,cpuacct:/mine\n0::/\n')
  const place = { root: folder, self: join(folder, 'self') }
  const group = newCgroup('conv-1', QUOTA, place)!
  group.add(4711)
  const files = (controller: string, all = '') =>
    readdirSync(join(folder, controller, 'mine', all, 'holdfast-conv-1')).sort()
  assert.deepEqual(files('pids'), ['cgroup.procs', 'pids.max'])
  assert.deepEqual(files('memory'), ['cgroup.procs', 'memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'])
  assert.deepEqual(files('cpu', 'holdfast'), ['cgroup.procs', 'cpu.shares'])
  assert.deepEqual(group.limits, ['memory', 'processes', 'processor'])
})

test('many busy workspaces together get as much processor time as one group outside', async (context) => {
  const folder = groups('cpu memory pids')
  context.after(() => rmSync(folder, { recursive: true }))
  const place = { root: folder, self: join(folder, 'self') }
  for (const name of ['conv-1', 'conv-2']) newCgroup(name, QUOTA, place)
  const all = join(folder, 'services', 'holdfast')
  assert.deepEqual(readdirSync(all).sort(), ['cgroup.subtree_control', 'holdfast-conv-1', 'holdfast-conv-2'])
})
