import assert from 'node:assert/strict'
import { existsSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { mappedSegments } from '../../src/workspaces/supervisor/shared-memory.ts'
import { caseCount } from '../harness/case-count.ts'
import { missingProgram } from '../harness/programs.ts'
import { newCommand, openWorkspacesFixture, runCommand, until } from './fixture-workspaces.ts'
import { killSupervisor } from './kill-supervisor.ts'

const skip = missingProgram('bwrap')
const skipHogs = process.arch === 'x64' ? missingProgram('bwrap') || missingProgram('perl') : 'system calls by number'
const MB = 1024 * 1024
const QUOTA = { memoryBytes: 200 * MB, diskBytes: 48 * MB, processes: 64 }

/**
 * Written, mapped, closed and never touched: in no resident size. System calls of x86-64: memfd_create 319, mmap 9,
 * read 0.
 */
const HIDDEN_MEMORY: Record<string, string> = {
  memfd: `my $name = "x"; my $text = "x" x 20000000;
while (1) {
  my $number = syscall(319, $name, 0); open(my $file, "+<&=", $number) or die;
  syswrite($file, $text); syscall(9, 0, 20000000, 3, 1, $number, 0); close($file); select(undef, undef, undef, 0.02)
}`,
  'a shared mapping that a child fills': `open(my $zero, "<", "/dev/zero");
while (1) {
  my $at = syscall(9, 0, 20000000, 3, 33, -1, 0);
  if (fork() == 0) { syscall(0, fileno($zero), $at, 20000000); exit }
  wait(); select(undef, undef, undef, 0.02)
}`,
}

for (const [kind, program] of Object.entries(HIDDEN_MEMORY))
  test(`memory outside of every resident size counts against the limit: ${kind}`, {
    skip: skipHogs,
  }, async (context) => {
    const workspace = await openWorkspacesFixture(context, { sandbox: { quota: QUOTA } }).open()
    await workspace.files.write('hog.pl', program)
    const neighbor = await workspace.start(newCommand('sleep 1000', { background: true }))
    const { ending } = await runCommand(workspace, 'perl hog.pl')
    assert.deepEqual(ending, { type: 'over-limit', limit: 'memory' })
    assert.equal((await workspace.process(neighbor.processId))?.ending, undefined)
  })

test('a mapping counts for how far it reaches into its memfd, and private ones do not count', () => {
  const maps = `7f0000000000-7f0000100000 rw-s 00200000 00:01 42   /memfd:x (deleted)
7f0000100000-7f0000200000 rw-s 00000000 00:01 43   /dev/zero (deleted)
7f0000200000-7f0000300000 rw-p 00000000 00:01 44   /memfd:y (deleted)
7f0000300000-7f0000400000 rw-s 00000000 08:01 45   /workspace/file`
  assert.deepEqual(
    mappedSegments('self', () => maps),
    [
      ['42', 3 * MB],
      ['43', MB],
    ],
  )
})

test('space cannot be taken without writing it', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context, { sandbox: { quota: QUOTA } }).open()
  const { text } = await runCommand(
    workspace,
    'touch b; fallocate -l 40M a; fallocate -n -l 40M b; du -sm . | cut -f1; head -c 9000 /dev/zero > c && fallocate -p -o 0 -l 4096 c && echo punched',
  )
  assert.match(text, /not supported[\s\S]*unsupported/)
  assert.match(text, /\n[01]\npunched\n$/)
})

/** Each fills the disk in its own way; what was there before stays. */
const FILLERS: Record<string, string> = {
  'large files': 'for i in $(seq 12); do head -c 20M /dev/zero > large-$i; done; sleep 100',
  'files that were there': 'for one in kept other; do head -c 40M /dev/zero >> $one; done; sleep 100',
  'deep folders': 'mkdir -p a/b/c/d; for i in $(seq 12); do head -c 20M /dev/zero > a/b/c/d/$i; done; sleep 100',
  'empty files': 'mkdir many; cd many; seq 8000 | xargs touch; sleep 100',
  'empty folders': 'mkdir many; cd many; seq 8000 | xargs mkdir; sleep 100',
}

for (const [kind, filler] of Object.entries(FILLERS).slice(0, caseCount(8)))
  test(`a command that exceeds the disk limit is ended, and what exceeds the limit is given back: ${kind}`, {
    skip,
  }, async (context) => {
    const workspace = await openWorkspacesFixture(context, { sandbox: { quota: QUOTA } }).open()
    await runCommand(workspace, 'rm -rf many a large-*; echo precious > other; echo precious > kept; sleep 0.1')
    for (let round = kind.startsWith('empty') ? 2 : 1; round <= 2; round++) {
      const { ending } = await runCommand(workspace, filler)
      assert.deepEqual(ending, { type: 'over-limit', limit: 'disk' })
      const limit = QUOTA.diskBytes
      await until(async () => {
        const usage = await used(workspace)
        return usage.bytes <= limit && usage.files * 8192 <= limit && usage
      })
      const after = await runCommand(workspace, 'head -n 1 other; head -n 1 kept')
      assert.deepEqual([after.text, after.ending], ['precious\nprecious\n', { type: 'exited', code: 0 }])
    }
  })

test('what commands put into the spool counts, and is given back', { skip }, async (context) => {
  const quota = { ...QUOTA, diskBytes: 64 * MB }
  const workspace = await openWorkspacesFixture(context, { sandbox: { quota } }).open()
  const { ending } = await runCommand(
    workspace,
    'for i in $(seq 60); do head -c 20M /dev/zero > /spool/large-$i; done; sleep 100',
  )
  assert.deepEqual(ending, { type: 'over-limit', limit: 'disk' })
  await until(async () => Number((await runCommand(workspace, 'du -sm /spool | cut -f1')).text) <= 580)
})

test('a supervisor starts at once, whatever commands left in its spool', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  const kept = newCommand('echo said')
  await runCommand(workspace, 'echo said', kept)
  await killSupervisor(join(fixture.folder, workspace.conversationId))
  const spool = join(fixture.folder, workspace.conversationId, 'spool')
  for (let index = 0; index < 400; index++) {
    const folder = join(spool, 'processes', `process-${index.toString(16).padStart(8, '0')}`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'beginning.json'), '')
    truncateSync(join(folder, 'beginning.json'), 400 * MB)
  }
  for (const name of ['terminal.json', 'terminal.bash', 'pruned.jsonl', 'writes']) {
    writeFileSync(join(spool, name), '')
    truncateSync(join(spool, name), 400 * MB)
  }
  const began = process.cpuUsage()
  assert.equal((await runCommand(workspace, 'echo fine')).text, 'fine\n')
  assert.equal((await workspace.findByKey(kept.key))?.ending?.type, 'exited')
  assert.ok(existsSync(spool) && process.cpuUsage(began).user < 5e6)
})

async function used(workspace: Parameters<typeof runCommand>[0]): Promise<{ bytes: number; files: number }> {
  const { text } = await runCommand(workspace, 'du -sB1 /workspace | cut -f1; du -s --inodes /workspace | cut -f1')
  const [bytes = 0, files = 0] = text.split('\n').map(Number)
  return { bytes, files }
}
