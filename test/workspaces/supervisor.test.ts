import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { newCommand, newRunId, openWorkspacesFixture, runCommand, until } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap')

const SLEEPS = 'pgrep -a "^sleep$" | cut -d" " -f2-'

test('the output of a command and its ending are reported', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const result = await runCommand(workspace, 'echo out; echo err >&2; echo named > /dev/stderr; exit 7')
  assert.deepEqual(result.ending, { type: 'exited', code: 7 })
  assert.equal(result.text, 'out\nerr\nnamed\n')
  assert.deepEqual((await runCommand(workspace, 'kill -9 $$')).ending, { type: 'killed', signal: 'SIGKILL' })
  assert.equal((await workspace.processes()).length, 2)
})

test('the working directory and exported variables carry over to the next command', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  await runCommand(workspace, "mkdir -p 'a b'; cd 'a b'; export WORD=$'two\\nlines ü' LOUD=yes; plain=no; exit 3")
  assert.equal(
    (await runCommand(workspace, 'pwd; echo "$WORD:$LOUD:$plain"')).text,
    '/workspace/a b\ntwo\nlines ü:yes:\n',
  )
  await runCommand(workspace, 'set -eu; export LATER=1; unset LOUD; false')
  assert.equal((await runCommand(workspace, 'echo "$LATER:$LOUD"')).text, '1:\n')
})

test('a command that breaks the terminal does not break the next one', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const breaking = [
    'mkdir gone; cd gone; rmdir /workspace/gone',
    'export PATH= HOME=',
    'export BASH_ENV=/nowhere SHELLOPTS LD_PRELOAD=/nowhere.so',
    'export HUGE=$(head -c 120000 /dev/zero | tr "\\0" x)',
    'for i in {1..300}; do printf -v "MANY_$i" %8000d 0; export "MANY_$i"; done',
    'mkdir shut; cd shut; chmod 000 .',
    'rm -rf /spool/* 2>/dev/null; kill -9 $$',
    'chmod 000 /spool/processes; chmod 000 /spool',
    'rm -rf /spool/*; ln -s /nowhere /spool/pipes; ln -s /nowhere /spool/processes',
    'rm -rf /spool/*; echo > /spool/pipes; echo > /spool/processes; mkdir -p /spool/terminal.{bash,json,json.new}/x /spool/pruned.jsonl',
    'trap "" EXIT; cd /tmp',
    'set -C; set -u; IFS=x; readonly PWD; exit 1',
  ]
  for (const command of breaking) {
    await runCommand(workspace, command)
    const { text, ending } = await runCommand(workspace, 'ls / > /dev/null && echo fine')
    assert.deepEqual([text, ending], ['fine\n', { type: 'exited', code: 0 }], command)
  }
})

test('of two concurrent foreground commands, the last to end leaves its working directory', {
  skip,
}, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  await runCommand(workspace, 'mkdir one two; mkfifo go')
  const slow = await workspace.start(newCommand('cd one; export WHO=slow; read line < /workspace/go'))
  await runCommand(workspace, 'cd two; export WHO=fast')
  assert.equal((await runCommand(workspace, 'echo $PWD $WHO')).text, '/workspace/two fast\n')
  await runCommand(workspace, 'echo > /workspace/go', { background: true })
  await workspace.wait(slow.processId, AbortSignal.timeout(10_000))
  assert.equal((await runCommand(workspace, 'echo $PWD $WHO')).text, '/workspace/one slow\n')
})

test('the same key gives the same process, also concurrently and after its end', { skip }, async (context) => {
  const fixture = openWorkspacesFixture(context)
  const workspace = await fixture.open()
  const request = newCommand('echo run >> runs; cat runs')
  const started = await Promise.all([1, 2, 3, 4, 5].map(() => workspace.start(request)))
  assert.equal(new Set(started.map((one) => one.processId)).size, 1)
  await workspace.wait(started[0]!.processId, AbortSignal.timeout(10_000))
  const later = await fixture.another().open(workspace.conversationId)
  assert.equal((await later.start(request)).processId, started[0]!.processId)
  assert.equal((await workspace.findByKey(request.key))?.processId, started[0]!.processId)
  assert.equal(await workspace.findByKey('another key'), undefined)
  assert.equal((await runCommand(workspace, 'cat runs')).text, 'run\n')
})

test('a background process reads input and writes output while it runs', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const request = newCommand('while read line; do echo "got $line"; done; echo over', { background: true })
  const { processId } = await workspace.start(request)
  assert.equal(await workspace.write(processId, { text: 'häl' }), true)
  assert.equal(await workspace.write(processId, { text: 'lo\n' }), true)
  await until(async () => (await workspace.output(processId, { from: 0, limit: 100 })).text === 'got hällo\n')
  assert.equal(await workspace.write(processId, { text: 'last\n', end: true }), true)
  const state = await workspace.wait(processId, AbortSignal.timeout(10_000))
  assert.deepEqual(state.ending, { type: 'exited', code: 0 })
  assert.equal((await workspace.output(processId, { last: 10 })).text, 'last\nover\n')
  assert.equal(await workspace.write(processId, { text: 'more' }), false)
})

test('output is read in parts that never split a character', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const { state } = await runCommand(workspace, "printf 'aé€😀%.0s' $(seq 50)")
  const whole = 'aé€😀'.repeat(50)
  for (const limit of [5, 7, 11]) {
    let text = ''
    for (let from = 0; from < state.outputBytes; ) {
      const piece = await workspace.output(state.processId, { from, limit })
      assert.ok(piece.next > from && !piece.text.includes('\ufffd'), JSON.stringify(piece))
      text += piece.text
      from = piece.next
    }
    assert.equal(text, whole)
  }
  for (let last = 1; last < 12; last++)
    assert.ok(!(await workspace.output(state.processId, { last })).text.includes('\ufffd'), String(last))
})

test('killing a command also kills its detached processes, and no others', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const other = await workspace.start(newCommand('echo $$; exec sleep 1000', { background: true }))
  const daemon = newCommand(
    'setsid sleep 1001 & (setsid sh -c "sleep 1002 & sleep 1003" &); (env -i setsid sleep 1006 > /dev/null 2>&1 &) & trap "" TERM; echo ready; sleep 1004; sleep 1005',
    { background: true },
  )
  const { processId } = await workspace.start(daemon)
  await until(async () => (await workspace.output(processId, { last: 100 })).text === 'ready\n')
  await until(async () => (await runCommand(workspace, 'pgrep -c "^sleep$"')).text.trim() >= '6')
  const ended = await workspace.kill(processId, 'asked')
  assert.equal(ended.ending?.type, 'killed')
  assert.equal(ended.ending?.type === 'killed' && ended.ending.why, 'asked')
  // A killed process stays in the table until its parent or init has read its ending.
  await until(async () => (await runCommand(workspace, SLEEPS)).text === 'sleep 1000\n')
  assert.equal((await workspace.process(other.processId))?.ending, undefined)
})

test('ending the processes of a run ends no others', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const [mine, others] = [newRunId(), newRunId()]
  const first = await workspace.start(newCommand('sleep 1000', { background: true, runId: mine }))
  const second = await workspace.start(newCommand('sleep 1000', { background: true, runId: others }))
  await runCommand(workspace, 'setsid sleep 1001 > /dev/null 2>&1 &', { runId: mine })
  await workspace.endProcessesOfRun(mine, 'cancelled')
  const ending = (await workspace.process(first.processId))?.ending
  assert.deepEqual(ending, { type: 'killed', signal: 'SIGTERM', why: 'cancelled' })
  assert.equal((await workspace.process(second.processId))?.ending, undefined)
  await until(async () => (await runCommand(workspace, SLEEPS)).text === 'sleep 1000\n')
})

test('a detached foreground command continues and does not change the terminal', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  await runCommand(workspace, 'mkdir there; mkfifo go')
  const { processId } = await workspace.start(newCommand('cd there; read line < /workspace/go; echo done'))
  const early = await workspace.wait(processId, AbortSignal.timeout(50))
  assert.equal(early.ending, undefined)
  assert.equal((await workspace.detach(processId)).background, true)
  await runCommand(workspace, 'echo > go', { background: true })
  const state = await workspace.wait(processId, AbortSignal.timeout(10_000))
  assert.deepEqual(state.ending, { type: 'exited', code: 0 })
  assert.equal((await runCommand(workspace, 'pwd')).text, '/workspace\n')
})

test('a command has its standard descriptors and no others', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const look = 'ls -1 /proc/self/fd'
  for (const background of [false, true]) {
    const { text } = await runCommand(workspace, look, { background })
    // Descriptor 3 is the folder that is listed.
    assert.deepEqual(text.trim().split('\n').slice(0, 4), ['0', '1', '2', '3'])
    assert.ok(text.trim().split('\n').length <= 4, text)
  }
  assert.equal((await runCommand(workspace, 'readlink /proc/self/fd/0; cat')).text, '/dev/null\n')
})

test('ended commands are kept up to a limit, and the key of a pruned one does not run again', {
  skip,
}, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const request = newCommand('echo run >> runs')
  const first = await runCommand(workspace, request.command, request)
  for (let count = 0; count < 70; count++) await workspace.start(newCommand('true', { background: true }))
  await until(async () => (await workspace.process(first.state.processId)) === undefined)
  assert.equal((await workspace.processes()).filter((state) => state.ending).length, 64)
  assert.deepEqual((await workspace.start(request)).ending, { type: 'exited', code: 0 })
  assert.equal((await runCommand(workspace, 'cat runs')).text, 'run\n')
})

test('a very long command, and one that cannot be started, end like any other', { skip }, async (context) => {
  const workspace = await openWorkspacesFixture(context).open()
  const long = await runCommand(workspace, `export LONG=yes; # ${'x'.repeat(300_000)}\necho fine; exit 4`)
  assert.deepEqual([long.text, long.ending], ['fine\n', { type: 'exited', code: 4 }])
  assert.equal((await runCommand(workspace, 'echo $LONG')).text, 'yes\n')
  const never = await runCommand(workspace, 'echo \0 nothing')
  assert.deepEqual(never.ending, { type: 'exited', code: 126 })
  assert.match(never.text, /could not be started/)
})
