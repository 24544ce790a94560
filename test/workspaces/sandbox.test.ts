import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { WorkspaceError } from '../../src/ports/workspaces.ts'
import { REFUSED_CALLS } from '../../src/workspaces/sandbox/refused-calls.ts'
import { toSandboxError } from '../../src/workspaces/sandbox/sandbox-errors.ts'
import { seccompFilter } from '../../src/workspaces/sandbox/seccomp.ts'
import { missingProgram } from '../harness/programs.ts'
import { newCommand, newConversationId, openWorkspacesFixture, runCommand, until } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap')

test('without bubblewrap a workspace is refused with a remedy, and nothing is created', async (context) => {
  const fixture = openWorkspacesFixture(context)
  const path = process.env.PATH
  context.after(() => {
    process.env.PATH = path
  })
  process.env.PATH = '/nowhere'
  await assert.rejects(fixture.open(), (fault) => {
    assert.ok(fault instanceof WorkspaceError)
    assert.equal(fault.fault, 'missing-sandbox')
    assert.match(fault.message, /apt-get install bubblewrap.*HOLDFAST_SANDBOX=local/)
    return true
  })
  assert.deepEqual(await fixture.workspaces.list(), [])
})

test('a bubblewrap that may not create namespaces is refused with a remedy', async (context) => {
  const fixture = openWorkspacesFixture(context)
  const path = process.env.PATH
  context.after(() => {
    process.env.PATH = path
  })
  const programs = join(fixture.folder, '.programs')
  mkdirSync(programs)
  const words = 'bwrap: No permissions to create new namespace, likely because the kernel does not allow it'
  writeFileSync(join(programs, 'bwrap'), `#!/bin/sh\necho '${words}' >&2\nexit 1\n`, { mode: 0o755 })
  process.env.PATH = `${programs}:${path}`
  await assert.rejects(fixture.open(), (fault) => {
    assert.ok(fault instanceof WorkspaceError)
    assert.equal(fault.fault, 'missing-sandbox')
    assert.match(fault.message, /user namespaces.*sysctl/)
    return true
  })
  assert.equal(toSandboxError('bwrap: Unknown option --disable-userns').fault, 'missing-sandbox')
})

test('a command in the sandbox is an unprivileged user that sees only system folders, read-only', {
  skip,
}, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const { text } = await runCommand(
    workspace,
    'id -u; id -un; grep -E "^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; ls /',
  )
  assert.match(text, /^1000\nagent\n/)
  for (const name of ['CapEff', 'CapPrm', 'CapBnd']) assert.match(text, new RegExp(`${name}:\\s+0+\\n`))
  assert.match(text, /NoNewPrivs:\s+1/)
  assert.match(text, /Seccomp:\s+2/)
  assert.ok(!/^(root|home|work|mnt|run|sys)$/m.test(text), text)

  const writes = [
    '/x',
    '/usr/x',
    '/etc/x',
    '/dev/x',
    '/holdfast/x',
    '/proc/sys/kernel/hostname',
    '/proc/sys/vm/swappiness',
  ]
  for (const place of writes) {
    const { ending } = await runCommand(workspace, `cat /proc/sys/vm/swappiness > ${place}`)
    assert.notDeepEqual(ending, { type: 'exited', code: 0 }, place)
  }
  for (const place of ['/workspace/x', '/tmp/x', '/dev/shm/x', '/var/tmp/x'])
    assert.deepEqual((await runCommand(workspace, `echo > ${place}`)).ending, { type: 'exited', code: 0 }, place)
})

test("nothing of the server's environment is anywhere inside", { skip }, async (context) => {
  process.env.CANARY_KEY = 'sk-canary-4711'
  context.after(() => {
    delete process.env.CANARY_KEY
  })
  const workspace = await openWorkspacesFixture(context).open()
  const { text } = await runCommand(workspace, 'env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr "\\0" "\\n"')
  assert.match(text, /HOME=\/workspace/)
  assert.ok(!text.includes('canary') && !text.includes('CANARY'), text)
})

test('the sandbox has no network except its own loopback', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const { text } = await runCommand(
    workspace,
    'cat /proc/net/dev | tail -n +3 | cut -d: -f1; (echo > /dev/tcp/1.1.1.1/80) 2>&1; (echo > /dev/tcp/127.0.0.1/22) 2>&1',
  )
  assert.match(text, /^\s*lo\n/)
  assert.match(text, /unreachable/)
  assert.match(text, /refused/)
})

test('new namespaces, mounts and access to other processes are refused', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  for (const command of ['unshare -U true', 'unshare -r true', 'mount -t tmpfs none /tmp', 'chroot / true', 'dmesg'])
    assert.match(
      (await runCommand(workspace, `${command} 2>&1; echo $?`)).text,
      /(not permitted|superuser)[\s\S]*\b[1-9]\d*\n$/i,
      command,
    )
})

test('the seccomp filter is well formed for each architecture, and ends with a return', () => {
  for (const architecture of ['x64', 'arm64'] as const) {
    const filter = seccompFilter(architecture)!
    assert.equal(filter.length % 8, 0)
    assert.equal(filter.readUInt16LE(filter.length - 8), 0x06)
    const steps = filter.length / 8
    for (let step = 0; step < steps; step++) {
      const furthest = step + 1 + Math.max(filter.readUInt8(step * 8 + 2), filter.readUInt8(step * 8 + 3))
      assert.ok(furthest < steps || filter.readUInt16LE(step * 8) === 0x06)
    }
    const numbers = Object.values(REFUSED_CALLS).flatMap((call) => call[architecture] ?? [])
    assert.equal(new Set(numbers).size, numbers.length)
  }
  assert.equal(seccompFilter('mips'), undefined)
})

test('the server does not follow a link planted in the workspace', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  const outside = join(fixture.folder, 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'precious'), 'precious')
  symlinkSync(outside, join(fixture.folder, workspace.conversationId, 'files', 'link'))
  const { text } = await runCommand(
    workspace,
    `cat link/precious; ln -s ${outside} /spool/processes/process-planted; rm -rf /spool/pipes; ln -s ${outside} /spool/pipes; echo done`,
  )
  assert.match(text, /No such file[\s\S]*done/)
  await runCommand(workspace, 'true')
  assert.equal(await fixture.workspaces.remove(workspace.conversationId), true)
  assert.deepEqual(readdirSync(outside), ['precious'])
})

test('a workspace is listed, inspected and removed with its processes', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  const { conversationId } = workspace
  await runCommand(workspace, 'head -c 3000000 /dev/zero > file; mkdir -p deep/er; chmod 000 deep')
  const { processId } = await workspace.start(newCommand('echo ready; sleep 1000', { background: true }))
  await until(async () => (await workspace.output(processId, { last: 10 })).text === 'ready\n')
  assert.deepEqual(await fixture.workspaces.list(), [conversationId])
  const state = (await fixture.workspaces.inspect(conversationId))!
  assert.deepEqual([state.status, state.containment, state.processes.length], ['awake', 'bubblewrap', 2])
  assert.ok(state.usage.diskBytes >= 3_000_000 && state.usage.diskBytes < 4_000_000, String(state.usage.diskBytes))
  assert.ok(state.usage.processes >= 1 && state.usage.memoryBytes > 0, JSON.stringify(state.usage))
  assert.equal(statSync(state.folder).mode & 0o777, 0o700)

  assert.equal(await fixture.workspaces.remove(conversationId), true)
  assert.equal(await fixture.workspaces.remove(conversationId), false)
  assert.deepEqual(await fixture.workspaces.list(), [])
  assert.equal(await fixture.workspaces.inspect(conversationId), undefined)
  assert.equal(await fixture.workspaces.find(conversationId), undefined)
  await assert.rejects(workspace.processes(), (fault) => fault instanceof WorkspaceError && fault.fault === 'gone')
})

test('an invalid conversation id never becomes part of a path', async (context) => {
  const fixture = openWorkspacesFixture(context)
  for (const name of ['conv-../../etc', 'conv-', '..', 'conv-a/b', 'conv-\0'])
    await assert.rejects(fixture.workspaces.open(name as never), WorkspaceError)
})

test('workspaces work in a home with a long path', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const folder = join(fixture.folder, 'long'.repeat(30))
  mkdirSync(folder)
  const deep = openWorkspacesFixture(context, { folder })
  assert.equal((await runCommand(await deep.workspaces.open(newConversationId()), 'echo fine')).text, 'fine\n')
})
