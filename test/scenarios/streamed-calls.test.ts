import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Part } from '../../src/core/answer.ts'
import type { Chunk, NumberedChunk } from '../../src/core/chunk.ts'
import type { RunId } from '../../src/core/id.ts'
import type { ModelProvider } from '../../src/ports/model.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { watchRun } from '../../src/service/runs/watch-run.ts'
import { type HomeFixture, type HomeFixtureOptions, openHomeFixture } from '../harness/fixture-home.ts'
import { says } from '../harness/queue-model.ts'
import { gate, tool } from '../harness/tools.ts'

// Arguments of calls are streamed while the model writes them. What a subscriber joined is what is stored, or was reset.

const begin = (index: number, callId: string, name = 'print'): Part => ({
  type: 'call-start',
  index,
  callId,
  tool: name,
})
const piece = (index: number, json: string): Part => ({ type: 'call-delta', index, json })
const end: Part = { type: 'finish', finish: 'tool-calls' }
const text = (words: string): Part => ({ type: 'text-delta', text: words })

/** Answers in order; a function in an answer is awaited at its place. */
function modelOf(answers: (Part | (() => Promise<void>))[][]): ModelProvider {
  let asked = 0
  return {
    factsOf: () => ({}),
    async *stream() {
      for (const part of answers[Math.min(asked++, answers.length - 1)]!)
        if (typeof part === 'function') await part()
        else yield part
    },
  }
}

const open = (context: TestContext, answers: Parameters<typeof modelOf>[0], more: HomeFixtureOptions = {}) => {
  const model = modelOf(answers)
  return openHomeFixture(context, { tools: [tool('print')], providers: () => ({ test: model }), ...more })
}

async function readAll({ context }: HomeFixture, runId: RunId, after = 0): Promise<NumberedChunk[]> {
  const seen: NumberedChunk[] = []
  for await (const chunk of watchRun(runId, { after, signal: AbortSignal.timeout(20_000) }, context)) seen.push(chunk)
  return seen
}

type JoinedCall = { id: string; callId: string; name: string; json: string; isGuarded: boolean }

/** The calls that a subscriber joined from pieces, with resets applied. */
function joined(chunks: readonly Chunk[]): JoinedCall[] {
  const calls: JoinedCall[] = []
  for (const chunk of chunks) {
    if (chunk.message_type === 'message_reset')
      calls.splice(0, calls.length, ...calls.filter(({ id }) => id !== chunk.id))
    if (chunk.message_type !== 'tool_call_delta') continue
    const { id, tool_call_id: callId, name, arguments: json, needs_approval } = chunk
    const known = calls.find((call) => call.id === id && call.callId === callId)
    if (known) known.json += json
    else calls.push({ id, callId, name: name!, json, isGuarded: needs_approval === true })
  }
  return calls
}

async function stored(fixture: HomeFixture): Promise<JoinedCall[]> {
  return (await fixture.messages()).flatMap(({ id, body }) =>
    body.role === 'assistant'
      ? body.calls.map(({ callId, tool: name, input, needsApproval }) => ({
          id,
          callId,
          name,
          json: JSON.stringify(input),
          isGuarded: needsApproval,
        }))
      : [],
  )
}

const kindsOf = (chunks: readonly Chunk[]) => chunks.map(({ message_type }) => message_type)

test('the pieces of two calls, joined, are the calls that are stored, with the same ids', async (context) => {
  const both = [begin(0, 'a'), piece(0, '{ "n": 1.0'), begin(1, 'b'), piece(1, '{"s":"\\u00'), piece(0, ' }')]
  const fixture = await open(context, [[text('Now.'), ...both, piece(1, 'e9"}'), end], says('Done.')])
  const run = await fixture.ask('print')
  const chunks = await fixture.chunks(run.id)
  assert.deepEqual(joined(chunks), await stored(fixture))
  assert.deepEqual(
    joined(chunks).map(({ callId, json }) => [callId, json]),
    [
      ['a', '{"n":1}'],
      ['b', '{"s":"é"}'],
    ],
  )
  assert.equal(kindsOf(chunks).filter((kind) => kind === 'tool_call_delta').length, 4)
  // The whole calls follow for readers that want whole messages, and for the next process.
  assert.equal(kindsOf(chunks).filter((kind) => kind === 'tool_call_message').length, 1)
})

test('a guarded call is streamed as one that will wait for approval', async (context) => {
  const answer = [begin(0, 'a'), piece(0, '{"n":'), piece(0, '1}'), end]
  const fixture = await open(context, [answer, says('Done.')], {
    tools: [tool('print', undefined, { needsApproval: true })],
  })
  const run = await fixture.ask('print')
  assert.equal(run.stopReason, 'requires_approval')
  const [call] = joined(await fixture.chunks(run.id))
  assert.deepEqual([call!.json, call!.isGuarded], ['{"n":1}', true])
})

test('a call whose guard depends on its arguments is shown when it is whole', async (context) => {
  const answer = [begin(0, 'a'), piece(0, '{"n":'), piece(0, '1}'), end]
  const careful = tool('print', undefined, { approvalReason: () => 'because of 1' })
  const fixture = await open(context, [answer, says('Done.')], { tools: [careful] })
  const kinds = kindsOf(await fixture.chunks((await fixture.ask('print')).id))
  assert.ok(!kinds.includes('tool_call_delta'))
  assert.ok(kinds.includes('approval_request_message'))
})

const REWRITTEN: Record<string, Part[]> = {
  'arguments with a repeated key': [begin(0, 'a'), piece(0, '{"n":1,"n":2}')],
  'arguments that are no JSON': [begin(0, 'a'), piece(0, '{"n":')],
  'a call that is renamed': [begin(0, 'a'), piece(0, '{"n":1}'), begin(0, 'a', 'look')],
  'reasoning after a call': [begin(0, 'a'), piece(0, '{"n":1}'), { type: 'reasoning-delta', text: 'Hm.' }],
}

for (const [what, parts] of Object.entries(REWRITTEN))
  test(`${what}: what was streamed is reset, and the answer follows under new ids`, async (context) => {
    const fixture = await open(context, [[text('Now.'), ...parts, end], says('Done.')], {
      tools: [tool('print'), tool('look')],
    })
    const run = await fixture.ask('print')
    const chunks = await fixture.chunks(run.id)
    assert.deepEqual(joined(chunks), [])
    const [call] = await stored(fixture)
    const reset = chunks.find((chunk) => chunk.message_type === 'message_reset')
    const whole = chunks.find((chunk) => chunk.message_type === 'tool_call_message')
    assert.ok(reset && whole && reset.id !== whole.id)
    assert.deepEqual([whole.id, whole.tool_calls[0]!.tool_call_id], [call!.id, call!.callId])
    assert.notEqual(call!.callId, 'a')
    const texts = chunks.flatMap((chunk) =>
      chunk.message_type === 'assistant_message' && chunk.id === whole.id ? [chunk.content] : [],
    )
    assert.deepEqual(texts, ['Now.'])
  })

test('a call that a failed attempt began is reset, and the next attempt streams its own', async (context) => {
  const failing = [begin(0, 'a'), piece(0, '{"n":'), { type: 'failure', failure: { kind: 'cut-off', detail: 'x' } }]
  const fixture = await open(context, [failing as Part[], [begin(0, 'b'), piece(0, '{"n":2}'), end], says('Done.')])
  const run = await fixture.ask('print')
  const chunks = await fixture.chunks(run.id)
  assert.equal(kindsOf(chunks).filter((kind) => kind === 'message_reset').length, 1)
  assert.deepEqual(joined(chunks), await stored(fixture))
})

test('a cancel in the middle of a call keeps the text that was read, and the call is reset', async (context) => {
  const inCall = gate()
  const mayGoOn = gate()
  const fixture = await open(context, [
    [
      text('Now.'),
      begin(0, 'a'),
      piece(0, '{"n":'),
      async () => {
        inCall.open()
        await mayGoOn.promise
      },
      piece(0, '1}'),
      end,
    ],
  ])
  const runId = await fixture.send('print')
  await inCall.promise
  await cancelRun(runId, fixture.context)
  const run = await fixture.wait(runId)
  mayGoOn.open()
  assert.equal(run.status, 'cancelled')
  const chunks = await fixture.chunks(runId)
  assert.deepEqual(joined(chunks), [])
  const answers = (await fixture.messages()).filter(({ body }) => body.role === 'assistant')
  assert.equal(answers.length, 1)
  const texts = chunks.flatMap((chunk) =>
    chunk.message_type === 'assistant_message' && chunk.id === answers[0]!.id ? [chunk.content] : [],
  )
  assert.deepEqual(texts, ['Now.'])
})

test('a takeover in the middle of a call resets it; resuming after any number gives exactly the rest', async (context) => {
  const inCall = gate()
  const hanging = [
    begin(0, 'a'),
    piece(0, '{"n":'),
    async () => {
      inCall.open()
      await new Promise(() => {})
    },
  ]
  const again = [begin(0, 'a'), piece(0, '{"n":'), piece(0, '2}'), end]
  const fixture = await open(context, [hanging, again, says('Done.')])
  const runId = await fixture.send('print')
  await inCall.promise
  await fixture.context.deps.streams.flush()
  await fixture.crash()
  await fixture.restart()
  await fixture.wait(runId)
  const whole = await readAll(fixture, runId)
  const chunks = whole.map(({ chunk }) => chunk)
  assert.equal(kindsOf(chunks).filter((kind) => kind === 'message_reset').length, 1)
  assert.deepEqual(joined(chunks), await stored(fixture))
  for (let after = 0; after < whole.length; after++)
    assert.deepEqual(await readAll(fixture, runId, after), whole.slice(after))
})
