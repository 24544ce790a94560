import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Part } from '../../src/core/answer.ts'
import type { Chunk } from '../../src/core/chunk.ts'
import { defined } from '../../src/core/defined.ts'
import { type MessageBody, textOf } from '../../src/core/message.ts'
import { success } from '../../src/tools/define-tool.ts'
import { assertValidHistory, type HomeFixtureOptions, openHomeFixture } from '../harness/fixture-home.ts'
import { calls, fails, nothing, queueModel, says, thinks } from '../harness/queue-model.ts'
import { tool } from '../harness/tools.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

// An answer may be truncated, empty or impossible to run. No text is invented or doubled, and no such call runs.

type FixtureOptions = HomeFixtureOptions & { other?: Part[][] }

/** `other`: the answers of the fallback. */
async function openFixtureWith(context: TestContext, answers: Part[][], { other, ...options }: FixtureOptions = {}) {
  const clock = newVirtualClock()
  const model = queueModel(answers)
  const providers = () => ({ test: model, ...defined({ other: other ? queueModel(other) : undefined }) })
  const fixture = await openHomeFixture(context, {
    clock,
    providers,
    fallback: other ? ['other/model'] : [],
    ...options,
  })
  const ask = async (text: string) => {
    const runId = await fixture.send(text)
    return clock.advanceUntil(fixture.wait(runId))
  }
  return { fixture, model, clock, ask }
}

const assistantTexts = (messages: readonly { body: MessageBody }[]): string[] =>
  messages.flatMap(({ body }) => (body.role === 'assistant' ? [textOf(body.content)] : []))

/** The texts on a subscriber's screen at the end. */
function screenOf(chunks: Chunk[]): string[] {
  const texts = new Map<string, string>()
  for (const chunk of chunks) {
    if (chunk.message_type === 'assistant_message') texts.set(chunk.id, (texts.get(chunk.id) ?? '') + chunk.content)
    if (chunk.message_type === 'message_reset' && chunk.id) texts.delete(chunk.id)
  }
  return [...texts.values()]
}

test('text that reaches the output limit is continued and becomes one message with its rest', async (context) => {
  const { fixture, model, ask } = await openFixtureWith(context, [
    says('One, two, ', { finish: 'length' }),
    says('three, ', { finish: 'length' }),
    says('four.'),
  ])
  const run = await ask('count')
  assert.equal(run.stopReason, 'end_turn')
  assert.deepEqual(assistantTexts(await fixture.messages()), ['One, two, three, four.'])
  assert.deepEqual(screenOf(await fixture.chunks(run.id)), ['One, two, three, four.'])
  const caps = model.requests.map((request) => request.outputCap ?? 0)
  assert.ok(caps[0]! < caps[1]! && caps[1]! < caps[2]!, `the limit grows: ${caps}`)
  const shown = model.requests[2]!.messages.map((body) => ({ body }))
  assert.deepEqual(assistantTexts(shown), ['One, two, three, '], 'the request has the text so far')
  assertValidHistory(await fixture.messages())
})

test('text that is still truncated after three continuations is kept, and the run reports it', async (context) => {
  const { fixture, model, ask } = await openFixtureWith(context, [says('and ', { finish: 'length' })])
  const run = await ask('go on for ever')
  assert.equal(run.stopReason, 'max_tokens_exceeded')
  assert.equal(model.requests.length, 4)
  assert.deepEqual(assistantTexts(await fixture.messages()), ['and and and and '])
})

test('after a death between two continuations the text continues and is streamed once', async (context) => {
  const { fixture, model, clock } = await openFixtureWith(context, [
    says('One, ', { finish: 'length' }),
    fails('overloaded'),
    says('two.'),
  ])
  const runId = await fixture.send('count')
  // It waits after the second attempt, on a stopped clock.
  while (model.requests.length < 2) await clock.settle()
  await clock.settle()
  await fixture.crash()
  await fixture.restart()
  const run = await clock.advanceUntil(fixture.wait(runId))
  assert.equal(run.stopReason, 'end_turn')
  assert.deepEqual(assistantTexts(await fixture.messages()), ['One, two.'])
  assert.deepEqual(screenOf(await fixture.chunks(runId)), ['One, two.'])
})

test('when a continuation fails finally, the text before it stays', async (context) => {
  const { fixture, ask } = await openFixtureWith(context, [
    says('One, ', { finish: 'length' }),
    fails('invalid-request'),
  ])
  const run = await ask('count')
  assert.equal(run.status, 'failed')
  assert.deepEqual(assistantTexts(await fixture.messages()), ['One, '])
})

test('after a failover the next model does not continue the text but starts a new answer', async (context) => {
  const { fixture, ask } = await openFixtureWith(
    context,
    [says('Half an ', { finish: 'length' }), fails('quota-exhausted')],
    {
      other: [says('A whole answer.')],
    },
  )
  const run = await ask('talk')
  assert.deepEqual(assistantTexts(await fixture.messages()), ['A whole answer.'])
  assert.deepEqual(screenOf(await fixture.chunks(run.id)), ['A whole answer.'])
})

test('a tool call that reaches the output limit is requested again with a higher limit, and never run', async (context) => {
  const ran: unknown[] = []
  const erase = tool('erase', (input) => {
    ran.push(input)
    return success('done')
  })
  const { model, ask } = await openFixtureWith(
    context,
    [calls('erase', '{"path":"/', 'length'), calls('erase', '{"path":"/tmp/x"}'), says('Done.')],
    { tools: [erase] },
  )
  const run = await ask('erase it')
  assert.equal(run.stopReason, 'end_turn')
  assert.deepEqual(ran, [{ path: '/tmp/x' }])
  assert.ok(model.requests[1]!.outputCap! > (model.requests[0]!.outputCap ?? 0))
})

test('after an empty answer the model is prompted again, and the prompt is not in the history', async (context) => {
  const { fixture, model, ask } = await openFixtureWith(context, [nothing, says('Here I am.')])
  const run = await ask('hello')
  assert.equal(run.stopReason, 'end_turn')
  assert.equal(model.requests[1]!.messages.length, model.requests[0]!.messages.length + 1)
  const texts = (await fixture.messages()).map(({ body }) => ('content' in body ? textOf(body.content) : ''))
  assert.deepEqual(texts, ['hello', 'Here I am.'])
})

test('a model that sends only reasoning is prompted again and then given up, without invented text', async (context) => {
  const { fixture, ask } = await openFixtureWith(context, [thinks('hm')])
  const run = await ask('hello')
  assert.equal(run.stopReason, 'invalid_llm_response')
  assert.equal(run.error?.errorType, 'llm_empty_response')
  assert.deepEqual(await fixture.messages(), [])
})

test('three answers in a row with calls that cannot run end the turn; each time the model gets the reason', async (context) => {
  const { fixture, model, ask } = await openFixtureWith(context, [calls('no_such_tool', '{}')])
  const run = await ask('go')
  assert.equal(run.stopReason, 'invalid_tool_call')
  assert.equal(model.requests.length, 3)
  const outputs = (await fixture.messages()).flatMap(({ body }) =>
    body.role === 'tool' ? body.outcomes.map(({ output }) => output) : [],
  )
  assert.equal(outputs.length, 3)
  for (const output of outputs) assert.match(output, /no tool named "no_such_tool"/)
  assertValidHistory(await fixture.messages())
})

test('a call that can run between two that cannot clears the count', async (context) => {
  const bad = calls('no_such_tool', '{}')
  const good = calls('look', '{}')
  const { ask } = await openFixtureWith(context, [bad, bad, good, bad, bad, says('I give up.')], {
    tools: [tool('look')],
  })
  assert.equal((await ask('go')).stopReason, 'end_turn')
})

test('a refusal is recorded and the turn fails over', async (context) => {
  const { fixture, ask } = await openFixtureWith(context, [fails('content-refused')], { other: [says('Of course.')] })
  const run = await ask('help me')
  assert.equal(run.stopReason, 'end_turn')
  const failed = (await fixture.events(run.id)).find((event) => event.type === 'attempt-failed')
  assert.ok(failed?.type === 'attempt-failed' && failed.failure.kind === 'content-refused')
})

/** One answer with several calls, with ids as the server sends them. */
const rawCalls = (...raw: { callId: string; json: string }[]): Part[] => [
  ...raw.flatMap(({ callId, json }, index): Part[] => [
    { type: 'call-start', index, callId, tool: 'note' },
    { type: 'call-delta', index, json },
  ]),
  { type: 'finish', finish: 'tool-calls' },
]

const ECHOES: [what: string, calls: { callId: string; json: string }[], runs: number][] = [
  [
    'a call that is sent twice runs once',
    [
      { callId: 'a', json: '{"n":1}' },
      { callId: 'a', json: '{"n":1}' },
    ],
    1,
  ],
  [
    'a call that is opened again runs once',
    [
      { callId: 'a', json: '' },
      { callId: 'a', json: '{"n":1}' },
    ],
    1,
  ],
  [
    'two calls under one id both run',
    [
      { callId: 'a', json: '{"n":1}' },
      { callId: 'a', json: '{"n":2}' },
    ],
    2,
  ],
  [
    'two calls without ids both run',
    [
      { callId: '', json: '{"n":1}' },
      { callId: '', json: '{"n":1}' },
    ],
    2,
  ],
]

for (const [what, sent, runs] of ECHOES)
  test(`${what}, with any ids from the server`, async (context) => {
    const ran: unknown[] = []
    const note = tool('note', (input) => {
      ran.push(input)
      return success('noted')
    })
    const { fixture, ask } = await openFixtureWith(context, [rawCalls(...sent), says('Done.')], { tools: [note] })
    await ask('note it')
    assert.equal(ran.length, runs)
    assertValidHistory(await fixture.messages())
  })
