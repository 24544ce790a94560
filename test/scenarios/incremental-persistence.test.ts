import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { TurnEvent } from '../../src/core/event.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { success } from '../../src/tools/define-tool.ts'
import { assertValidHistory, openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'

// Each tool call and each result is on disk before the next step starts.

/** The committed state, as another process sees it. */
function onDisk(home: string) {
  const database = new DatabaseSync(join(home, 'holdfast.db'), { readOnly: true })
  try {
    const rows = database.prepare('select body from events order by run_number, seq').all() as { body: string }[]
    const messages = database.prepare('select role from messages order by position').all() as { role: string }[]
    const events = rows.map(({ body }) => JSON.parse(body) as TurnEvent)
    return { events, roles: messages.map(({ role }) => role) }
  } finally {
    database.close()
  }
}

const calls = (...names: string[]) => names.map((name, index) => ({ tool: name, input: {}, callId: `c${index + 1}` }))

test('the answer with its tool calls is on disk before any tool starts', async (context) => {
  const seen: ReturnType<typeof onDisk>[] = []
  const search = tool('search', () => {
    seen.push(onDisk(fixture.home))
    return success('found')
  })
  const fixture = await openHomeFixture(context, {
    tools: [search],
    script: scriptOf({ calls: calls('search') }, { text: 'done' }),
  })
  const run = await fixture.ask('search something')
  assert.equal(run.stopReason, 'end_turn')
  assert.equal(seen.length, 1)
  const { events, roles } = seen[0]!
  assert.deepEqual(roles, ['user', 'assistant'])
  const answer = events.find((event) => event.type === 'answer-received')
  assert.deepEqual(
    answer?.calls.map((call) => call.callId),
    ['c1'],
  )
  assert.ok(events.some((event) => event.type === 'tool-started' && event.callId === 'c1'))
  assertValidHistory(await fixture.messages())
})

test('with sequential calls each result is on disk before the next call starts, and no later call is marked as started', async (context) => {
  const seen: { call: string; ended: string[]; started: string[] }[] = []
  const search = tool('search', (_, { callId }) => {
    const { events } = onDisk(fixture.home)
    const ended = events.flatMap((event) => (event.type === 'tool-ended' ? [event.outcome.callId] : []))
    const started = events.flatMap((event) => (event.type === 'tool-started' ? [event.callId] : []))
    seen.push({ call: callId, ended, started })
    return success(`result-${callId}`)
  })
  const fixture = await openHomeFixture(context, {
    tools: [search],
    script: scriptOf({ calls: calls('search', 'search') }, { text: 'done' }),
  })
  await fixture.ask('search twice')
  assert.deepEqual(seen, [
    { call: 'c1', ended: [], started: ['c1'] },
    { call: 'c2', ended: ['c1'], started: ['c1', 'c2'] },
  ])
})

test('a concurrent result is committed once, as it arrives, and the history shows results in call order', async (context) => {
  const slowMayFinish = gate()
  const quickIsOnDisk = gate()
  const slow = tool('slow', () => slowMayFinish.promise.then(() => success('slow result')), { parallel: true })
  const quick = tool('quick', () => success('quick result'), { parallel: true })
  const fixture = await openHomeFixture(context, {
    tools: [slow, quick],
    script: scriptOf({ calls: calls('slow', 'quick') }, { text: 'done' }),
  })
  const runId = await fixture.send('both')
  const poll = setInterval(() => {
    const { events, roles } = onDisk(fixture.home)
    const ended = events.flatMap((event) => (event.type === 'tool-ended' ? [event.outcome.callId] : []))
    if (ended.join() !== 'c2') return
    assert.deepEqual(roles, ['user', 'assistant'], 'the step is not settled: its results are not a message yet')
    quickIsOnDisk.open()
  }, 5)
  await quickIsOnDisk.promise
  clearInterval(poll)
  slowMayFinish.open()
  await fixture.wait(runId)
  const ended = (await fixture.events(runId)).flatMap((event) =>
    event.type === 'tool-ended' ? [event.outcome.callId] : [],
  )
  assert.deepEqual(ended, ['c2', 'c1'])
  const results = (await fixture.messages()).flatMap(({ body }) => (body.role === 'tool' ? [body.outcomes] : []))
  assert.deepEqual(
    results.map((outcomes) => outcomes.map(({ callId, output }) => [callId, output])),
    [
      [
        ['c1', 'slow result'],
        ['c2', 'quick result'],
      ],
    ],
  )
})

test('a tool that kills the process loses neither its call nor any result before it', async (context) => {
  const killed = gate()
  let kills = 0
  const harmless = tool('harmless', () => success('kept'))
  const deadly = tool('deadly', () => {
    kills++
    void fixture.crash().then(killed.open)
    return new Promise(() => {})
  })
  const fixture = await openHomeFixture(context, {
    tools: [harmless, deadly],
    script: scriptOf({ calls: calls('harmless', 'deadly', 'harmless') }, { text: 'I survived.' }),
  })
  const runId = await fixture.send('go')
  await killed.promise
  await fixture.restart()
  const run = await fixture.wait(runId)
  assert.equal(run.stopReason, 'end_turn')
  assert.equal(kills, 1, 'a tool with side effects is never silently run again')
  const messages = await fixture.messages()
  assertValidHistory(messages)
  const outcomes = messages.flatMap(({ body }) => (body.role === 'tool' ? body.outcomes : []))
  assert.deepEqual(
    outcomes.map(({ callId, status }) => [callId, status]),
    [
      ['c1', 'success'],
      ['c2', 'unknown'],
      ['c3', 'success'],
    ],
  )
  assert.match(outcomes[1]!.output, /may or may not have taken effect/)
})
