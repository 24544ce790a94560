import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingProgram } from '../harness/programs.ts'
import { openTurns, processIn, type Turns } from './fixture-turns.ts'
import { until } from './fixture-workspaces.ts'

const skip = missingProgram('bwrap')

const ask = ({ call }: Turns, input: object) => call({ tool: 'process', input })

const printed = (turns: Turns, process_id: string, bytes: number) =>
  until(async () => ((await (await turns.workspace()).process(process_id))?.outputBytes ?? 0) >= bytes)

test('before the first command the list is empty, and the answer says how to start one', { skip }, async (context) => {
  const turns = await openTurns(context)
  assert.match((await ask(turns, { action: 'list' })).output, /Nothing has run in this conversation yet/)
  const answer = await ask(turns, { action: 'poll', process_id: 'p1' })
  assert.deepEqual([answer.status, /Nothing has run/.test(answer.output)], ['error', true])
  assert.deepEqual(await turns.workspaces.list(), [])
})

test('all processes are listed with their status; an unknown id is answered with the known ones', {
  skip,
}, async (context) => {
  const turns = await openTurns(context)
  const over = processIn(await turns.shell('echo hello; exit 2'))
  const going = processIn(await turns.shell('sleep 1000', { background: true }))
  const { output } = await ask(turns, { action: 'list' })
  assert.match(output, new RegExp(`^${over}  exit code 2, after .* s, 6 bytes of output: echo hello; exit 2$`, 'm'))
  assert.match(output, new RegExp(`^${going}  running for .* s, 0 bytes of output: sleep 1000$`, 'm'))
  const wrong = await ask(turns, { action: 'kill', process_id: 'nobody' })
  assert.equal(wrong.status, 'error')
  assert.match(wrong.output, new RegExp(`There is no process "nobody" here. There are: ${over} .*${going} `))
  assert.match((await ask(turns, { action: 'poll' })).output, /poll needs a process_id/)
})

test('a poll from the end of the last one shows only new output', { skip }, async (context) => {
  const turns = await openTurns(context)
  const started = await turns.shell('echo one; until [ -e go ]; do sleep 0.05; done; echo two', { background: true })
  const process_id = processIn(started)
  const first = (await ask(turns, { action: 'poll', process_id })).output
  assert.match(first, /running for .*\none\n\[bytes 0 to 4 of 4; next: 4\]$/)
  assert.match((await ask(turns, { action: 'poll', process_id, from: 4 })).output, /s\n\[bytes 4 to 4 of 4; next: 4\]$/)
  await turns.shell('touch go')
  await printed(turns, process_id, 8)
  assert.match((await ask(turns, { action: 'poll', process_id, from: 4 })).output, /\ntwo\n\[bytes 4 to 8 of 8/)
})

test('waiting has a timeout, after which the process continues', { skip }, async (context) => {
  const turns = await openTurns(context)
  const process_id = processIn(await turns.shell('sleep 1000', { background: true }))
  assert.match((await ask(turns, { action: 'wait', process_id, timeout_seconds: 1 })).output, /running for/)
  const refused = await turns.fixture.ask(
    JSON.stringify([{ tool: 'process', input: { action: 'wait', process_id, timeout_seconds: 9999 } }]),
  )
  assert.equal(refused.stopReason, 'end_turn')
})

test('a log is read from its end, or page by page without gaps', { skip }, async (context) => {
  const turns = await openTurns(context)
  const process_id = processIn(await turns.shell('seq 1 30000'))
  const end = (await ask(turns, { action: 'log', process_id })).output.split('\n')
  assert.deepEqual([end[0], end.at(-2)], ['29801', '30000'])
  const seen: string[] = []
  for (let from: number | undefined = 0; from !== undefined; ) {
    const { output } = await ask(turns, { action: 'log', process_id, from, lines: 2000 })
    const lines = output.split('\n')
    const note = lines.pop()!
    seen.push(...lines)
    const next = /next: (\d+)\]$/.exec(note)?.[1]
    from = next === undefined ? undefined : Number(next)
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 30_000 }, (_, index) => String(index + 1)),
  )
})

test('a process reads its input and the end of input', { skip }, async (context) => {
  const turns = await openTurns(context)
  const process_id = processIn(
    await turns.shell('while read -r line; do echo "got $line"; done; echo bye', { background: true }),
  )
  assert.match((await ask(turns, { action: 'write', process_id, input: 'first\n' })).output, /^Written to/)
  await printed(turns, process_id, 'got first\n'.length)
  await ask(turns, { action: 'write', process_id, input: 'last\n', end_input: true })
  assert.match((await ask(turns, { action: 'wait', process_id })).output, /exit code 0[\s\S]*got first\ngot last\nbye/)
  const late = await ask(turns, { action: 'write', process_id, input: 'x' })
  assert.deepEqual([late.status, /takes no input any more/.test(late.output)], ['error', true])
  assert.match((await ask(turns, { action: 'write', process_id })).output, /nothing to write/)
})

test('killing a process ends its children, and the answer shows its output', { skip }, async (context) => {
  const turns = await openTurns(context)
  const process_id = processIn(
    await turns.shell('(sleep 1000 & sleep 1000 &); echo up; sleep 1000', { background: true }),
  )
  const killed = await ask(turns, { action: 'kill', process_id })
  assert.match(killed.output, /it was ended on request[\s\S]*up/)
  assert.match((await turns.shell('ps ax | grep -c "[s]leep 1000"')).output, /^0\n/)
  assert.match((await ask(turns, { action: 'kill', process_id })).output, /it was ended on request/)
})

test('processes of another conversation are not visible', { skip }, async (context) => {
  const turns = await openTurns(context)
  const process_id = processIn(await turns.shell('sleep 1000', { background: true }))
  const other = `conv-${crypto.randomUUID()}` as const
  const { store, clock } = turns.fixture.context.deps
  const { organizationId, id: agentId } = turns.fixture.agent
  const conversation = { id: other, organizationId, agentId, isDefault: false, createdAt: clock.now() }
  await store.conversations.create({ ...conversation, contextStart: 0, nextPosition: 0 })
  const call = { tool: 'process', input: { action: 'kill', process_id } }
  await turns.fixture.ask(JSON.stringify([call]), { conversationId: other })
  assert.equal((await (await turns.workspace()).process(process_id))?.ending, undefined)
  assert.deepEqual(await turns.workspaces.list(), [turns.fixture.conversationId])
})
