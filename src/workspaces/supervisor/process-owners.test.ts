import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { newProcessOwners } from './process-owners.ts'
import { MARK } from './process-table.ts'

test('a process that was seen before it executed its program is found by its mark afterwards', async (context) => {
  const owners = newProcessOwners({
    isSandboxed: false,
    roots: () => new Map(),
    isOwnMark: (mark) => mark === 'process-1',
    tagOf: () => undefined,
  })
  const program = `read line; export ${MARK}=process-1; exec sh -c 'echo ready; read line'`
  const child = spawn('sh', ['-c', `exec 3<&0; (${program}) <&3 & echo $!; wait`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  context.after(() => child.stdin.destroy())
  const pid = Number(String((await once(child.stdout, 'data'))[0]))
  const ownerOf = () => owners.members().find((one) => one.pid === pid)?.owner
  assert.equal(ownerOf(), undefined)
  child.stdin.write('go\n')
  await once(child.stdout, 'data')
  assert.equal(ownerOf(), 'process-1')
})
