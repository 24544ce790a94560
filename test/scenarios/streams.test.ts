import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { NumberedChunk } from '../../src/core/chunk.ts'
import type { RunId } from '../../src/core/id.ts'
import { MAX_READER_BACKLOG } from '../../src/live/fan-out.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { watchRun } from '../../src/service/runs/watch-run.ts'
import { success } from '../../src/tools/define-tool.ts'
import { type HomeFixture, openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'

// Every run has a stream with dense numbers from 1. It can be resumed after any number and has one terminal chunk.

async function readAll(fixture: HomeFixture, runId: RunId, after = 0): Promise<NumberedChunk[]> {
  const seen: NumberedChunk[] = []
  for await (const chunk of watchRun(runId, { after, signal: AbortSignal.timeout(10_000) }, fixture.context))
    seen.push(chunk)
  return seen
}

const STORY = scriptOf(
  {
    reasoning: 'let me think',
    text: 'I will print it.',
    calls: [{ tool: 'print', input: {} }],
    pace: { chunkSize: 3, delayMs: 0 },
  },
  { text: 'It is printed, as you can see.', pace: { chunkSize: 3, delayMs: 0 } },
)

test('numbers are dense from 1, and resuming after any number gives exactly the rest, also after a restart', async (context) => {
  const fixture = await openHomeFixture(context, { tools: [tool('print')], script: STORY })
  const run = await fixture.ask('print')
  const whole = await readAll(fixture, run.id)
  assert.deepEqual(
    whole.map(({ number }) => number),
    whole.map((_, index) => index + 1),
  )
  assert.ok(whole.length > 10)
  for (let after = 0; after <= whole.length; after++)
    assert.deepEqual(await readAll(fixture, run.id, after), after === whole.length ? [] : whole.slice(after))
  await fixture.restart()
  assert.deepEqual(await readAll(fixture, run.id, 5), whole.slice(5))
})

test('there is exactly one terminal chunk, it is the last, and the stop reason comes before it', async (context) => {
  const fixture = await openHomeFixture(context, { tools: [tool('print')], script: STORY })
  const run = await fixture.ask('print')
  const kinds = (await readAll(fixture, run.id)).map(({ chunk }) => chunk.message_type)
  assert.equal(kinds.filter((kind) => kind === 'done').length, 1)
  assert.equal(kinds.at(-1), 'done')
})

test('the text a subscriber reads is the text in the history, with the same ids', async (context) => {
  const fixture = await openHomeFixture(context, { tools: [tool('print')], script: STORY })
  const run = await fixture.ask('print')
  const streamed = new Map<string, string>()
  for (const { chunk } of await readAll(fixture, run.id))
    if (chunk.message_type === 'assistant_message')
      streamed.set(chunk.id, (streamed.get(chunk.id) ?? '') + chunk.content)
  const stored = (await fixture.messages()).flatMap(({ id, body }) =>
    body.role === 'assistant'
      ? [[id, body.content.map((part) => (part.type === 'text' ? part.text : '')).join('')] as const]
      : [],
  )
  assert.deepEqual([...streamed], stored)
})

test('without token streaming whole messages are streamed, with dense numbers', async (context) => {
  const fixture = await openHomeFixture(context, { tools: [tool('print')], script: STORY })
  const run = await fixture.ask('print', { streamTokens: false })
  const kinds = (await readAll(fixture, run.id)).map(({ chunk }) => chunk.message_type)
  assert.deepEqual(kinds, [
    'reasoning_message',
    'assistant_message',
    'tool_call_message',
    'tool_return_message',
    'assistant_message',
    'stop_reason',
    'usage_statistics',
    'done',
  ])
})

test('a subscriber that joins in the middle gets the earlier and the later chunks without a gap', async (context) => {
  const inTool = gate()
  const mayGoOn = gate()
  const print = tool('print', async (_, { progress }) => {
    progress('half way')
    inTool.open()
    await mayGoOn.promise
    return success('printed')
  })
  const fixture = await openHomeFixture(context, { tools: [print], script: STORY })
  const runId = await fixture.send('print')
  await inTool.promise
  const readers = [readAll(fixture, runId), readAll(fixture, runId)]
  mayGoOn.open()
  await fixture.wait(runId)
  const [first, second] = await Promise.all(readers)
  assert.deepEqual(first, second)
  assert.deepEqual(first, await readAll(fixture, runId))
  assert.ok(first!.some(({ chunk }) => chunk.message_type === 'tool_progress' && chunk.text === 'half way'))
})

test('a subscriber that stops reading does not slow down others, and reads on from the store without a gap', async (context) => {
  const mayGoOn = gate()
  const fixture = await openHomeFixture(context, {
    tools: [tool('hold', () => mayGoOn.promise.then(() => success('held')))],
    script: scriptOf(
      { text: 'start', calls: [{ tool: 'hold', input: {} }] },
      { text: 'x'.repeat(MAX_READER_BACKLOG + 500), pace: { chunkSize: 1, delayMs: 0 } },
    ),
  })
  const runId = await fixture.send('go')
  const lazy = watchRun(runId, { signal: AbortSignal.timeout(10_000) }, fixture.context)
  const seen: NumberedChunk[] = []
  let next = await lazy.next()
  mayGoOn.open()
  await fixture.wait(runId)
  for (; !next.done; next = await lazy.next()) seen.push(next.value)
  assert.equal(next.value, 'done')
  assert.ok(seen.length > MAX_READER_BACKLOG)
  assert.deepEqual(seen, await readAll(fixture, runId))
})

test('the stream of a run whose writer died between its last commit and its last chunk is ended', async (context) => {
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'hi' }) })
  // The event log is written and the chunk log is not, as after a kill between the two writes.
  const { streams } = fixture.context.deps
  fixture.context.deps.streams = {
    ...streams,
    async open(runId, options) {
      const stream = await streams.open(runId, options)
      return stream === 'fenced' ? stream : { ...stream, write: () => {} }
    },
  }
  const run = await fixture.ask('hello', { streamTokens: false })
  assert.equal(run.stopReason, 'end_turn')
  await fixture.crash()
  await fixture.restart()
  const kinds = (await readAll(fixture, run.id)).map(({ chunk }) => chunk.message_type)
  assert.deepEqual(kinds, ['assistant_message', 'stop_reason', 'usage_statistics', 'done'])
})

test('a long stream stays dense beyond its first number bound', async (context) => {
  const fixture = await openHomeFixture(context, {
    script: scriptOf({ text: 'y'.repeat(10_500), pace: { chunkSize: 1, delayMs: 0 } }),
  })
  const run = await fixture.ask('talk')
  const whole = await readAll(fixture, run.id)
  assert.deepEqual(
    whole.map(({ number }) => number),
    whole.map((_, index) => index + 1),
  )
  assert.ok((await fixture.get(run.id)).chunkBound > whole.length)
})

test('two writers that finish the same stream at the same moment give it one end', async (context) => {
  const mayGoOn = gate()
  const fixture = await openHomeFixture(context, {
    tools: [tool('hold', () => mayGoOn.promise.then(() => success('held')))],
    script: scriptOf({ calls: [{ tool: 'hold', input: {} }] }, { text: 'done' }),
  })
  await fixture.send('first')
  const queued = await fixture.send('second')
  await cancelRun(queued, fixture.context)
  const readings = await Promise.all([readAll(fixture, queued), readAll(fixture, queued), readAll(fixture, queued)])
  for (const reading of readings)
    assert.deepEqual(
      reading.map(({ chunk }) => chunk.message_type),
      ['stop_reason', 'done'],
    )
  mayGoOn.open()
})

test('an answer without subscribers whose chunks were lost with the process is streamed whole, once, by the next one', async (context) => {
  const inTool = gate()
  let runs = 0
  const hang = tool(
    'hang',
    () => {
      inTool.open()
      return runs++ === 0 ? new Promise(() => {}) : success('done')
    },
    { effects: 'none' },
  )
  const fixture = await openHomeFixture(context, {
    tools: [hang],
    script: scriptOf(
      {
        reasoning: 'hm, hm',
        text: 'I will do it now.',
        calls: [{ tool: 'hang', input: {} }],
        pace: { chunkSize: 4, delayMs: 0 },
      },
      { text: 'It is done.' },
    ),
  })
  const runId = await fixture.send('do it')
  await inTool.promise
  await fixture.crash()
  await fixture.restart()
  await fixture.wait(runId)
  const texts = new Map<string, string>()
  for (const { chunk } of await readAll(fixture, runId))
    if (chunk.message_type === 'assistant_message') texts.set(chunk.id, (texts.get(chunk.id) ?? '') + chunk.content)
  assert.deepEqual([...texts.values()], ['I will do it now.', 'It is done.'])
})

test('a run whose worker died with all its chunks is found and its stream is ended, without a subscriber', async (context) => {
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'hi' }) })
  const { streams } = fixture.context.deps
  fixture.context.deps.streams = {
    ...streams,
    async open(runId, options) {
      const stream = await streams.open(runId, options)
      return stream === 'fenced' ? stream : { ...stream, write: () => {}, settle: async () => 0 }
    },
  }
  const run = await fixture.ask('hello')
  await fixture.crash()
  await fixture.restart()
  const database = new DatabaseSync(join(fixture.home, 'chunks.db'), { readOnly: true })
  context.after(() => database.close())
  const isEnded = database.prepare('select ended from stream_heads where run_id = ?')
  const giveUp = AbortSignal.timeout(10_000)
  while (isEnded.get(run.id)?.ended !== 1) {
    assert.ok(!giveUp.aborted, 'the sweep did not end the stream')
    await fixture.context.deps.clock.sleep(10)
  }
})

test('the end of a run is committed only after its stream has a head, so the sweep can finish the stream of a dead writer', async (context) => {
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'hi' }) })
  const database = new DatabaseSync(join(fixture.home, 'chunks.db'), { readOnly: true })
  context.after(() => database.close())
  const head = database.prepare('select run_id from stream_heads where run_id = ?')
  const { events } = fixture.context.deps.store
  const append = events.append.bind(events)
  const foundAtTheEnd: boolean[] = []
  events.append = (request) => {
    if (request.intents.some(({ event }) => event.type === 'turn-ended'))
      foundAtTheEnd.push(head.get(request.runId) !== undefined)
    return append(request)
  }
  await fixture.ask('hello')
  assert.deepEqual(foundAtTheEnd, [true])
})

test('a graceful shutdown writes the buffered chunks of streams without subscribers', async (context) => {
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'hi' }) })
  const run = await fixture.ask('hello')
  await fixture.stop()
  const database = new DatabaseSync(join(fixture.home, 'chunks.db'), { readOnly: true })
  context.after(() => database.close())
  assert.equal(database.prepare('select ended from stream_heads where run_id = ?').get(run.id)?.ended, 1)
})
