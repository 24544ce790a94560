import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Part } from '../../src/core/answer.ts'
import { type MessageBody, textOf } from '../../src/core/message.ts'
import type { ModelFacts } from '../../src/ports/model.ts'
import { changeContext } from '../../src/service/conversations/change-context.ts'
import { listMessages } from '../../src/service/messages/messages.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { success } from '../../src/tools/define-tool.ts'
import { type HomeFixtureOptions, openHomeFixture } from '../harness/fixture-home.ts'
import { calls, fails, queueModel, says } from '../harness/queue-model.ts'
import { tool } from '../harness/tools.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

// When the context window fills, the conversation is compacted between steps. No message is lost, no call is separated
// from its results, and a failed summary leaves the context unchanged.

type FixtureOptions = HomeFixtureOptions & { facts?: ModelFacts; other?: Part[][] }

async function openFixtureWith(
  context: TestContext,
  answers: Part[][],
  { facts, other, ...options }: FixtureOptions = {},
) {
  const clock = newVirtualClock()
  const model = queueModel(answers, facts)
  const second = queueModel(other ?? [])
  const providers = () => ({ test: model, other: second })
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
  const change = async (task: 'compact' | 'reset') => {
    const { agent, conversationId } = fixture
    const runId = await changeContext({ agent, conversationId, task }, fixture.context)
    return clock.advanceUntil(fixture.wait(runId))
  }
  return { fixture, model, second, ask, change }
}

const textsOf = (messages: readonly MessageBody[]): string[] =>
  messages.map((body) => (body.role === 'summary' ? 'summary' : 'content' in body ? textOf(body.content) : body.role))

const LONG = 'x'.repeat(4_000)

test('a full context window is compacted before the next model call', async (context) => {
  const { fixture, model, ask } = await openFixtureWith(
    context,
    [says(`first ${LONG}`), says(`second ${LONG}`), says('A summary.'), says('third')],
    { facts: { window: 2_000 } },
  )
  await ask('one')
  await ask('two')
  const run = await ask('three')
  assert.equal(run.stopReason, 'end_turn')
  assert.equal(model.requests.length, 4)
  const [summary, ...rest] = model.requests[3]!.messages
  assert.ok(summary?.role === 'summary' && summary.text.includes('A summary.'))
  assert.ok(rest.length < 5, 'the request has fewer messages than the conversation')
  assert.deepEqual(textsOf(rest).at(-1), 'three')
  const readable = await listMessages(fixture.conversationId, { take: 'newest', limit: 50 }, fixture.context)
  assert.ok(
    readable.some(({ body }) => 'content' in body && textOf(body.content) === 'one'),
    'old messages stay readable',
  )
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('after a context overflow the request is sent again with a summary', async (context) => {
  const { model, ask } = await openFixtureWith(context, [
    says(`first ${LONG}`),
    fails('context-overflow'),
    says('A summary.'),
    says('second'),
  ])
  await ask('one')
  const run = await ask('two')
  assert.equal(run.stopReason, 'end_turn')
  assert.deepEqual(textsOf(model.requests.at(-1)!.messages), ['summary', 'two'])
})

test('a failed summary changes nothing that is stored: the copy that is sent is cut instead', async (context) => {
  const { fixture, model, ask } = await openFixtureWith(context, [
    says(`first ${LONG}`),
    fails('context-overflow'),
    fails('invalid-request'),
    says('second'),
  ])
  await ask('one')
  const run = await ask('two')
  assert.equal(run.stopReason, 'end_turn')
  const [first, cut, last] = textsOf(model.requests.at(-1)!.messages)
  assert.deepEqual([first, last], ['one', 'two'])
  assert.match(cut!, /^first x+ \[… \d+ characters left out …\] x+$/)
  assert.deepEqual(textsOf((await fixture.messages()).map(({ body }) => body)), [
    'one',
    `first ${LONG}`,
    'two',
    'second',
  ])
})

test('a summary has its own target in the chain: its failover does not move the answers', async (context) => {
  const { model, second, ask } = await openFixtureWith(
    context,
    [says(`first ${LONG}`), fails('context-overflow'), fails('quota-exhausted'), says('second')],
    { other: [says('A summary by another.')] },
  )
  await ask('one')
  await ask('two')
  assert.equal(second.requests.length, 1)
  const summary = model.requests.at(-1)!.messages[0]
  assert.ok(summary?.role === 'summary' && summary.text.includes('A summary by another.'))
})

test('in one long exchange older steps are summarized, no call loses its results, and the question is quoted', async (context) => {
  const look = tool('look', () => success(LONG))
  const steps = Array.from({ length: 4 }, () => calls('look', '{}'))
  const { fixture, model, ask } = await openFixtureWith(
    context,
    [...steps, fails('context-overflow'), says('A summary.'), says('done')],
    { tools: [look] },
  )
  const run = await ask('a question to quote')
  assert.equal(run.stopReason, 'end_turn')
  const [summary, ...rest] = model.requests.at(-1)!.messages
  assert.ok(summary?.role === 'summary' && summary.text.includes('a question to quote'))
  assert.equal(rest[0]?.role, 'assistant')
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a compaction without gain is not repeated', async (context) => {
  const { model, ask } = await openFixtureWith(context, [fails('context-overflow')])
  const run = await ask('hello')
  assert.equal(run.status, 'failed')
  assert.equal(run.error?.errorType, 'context_window_overflow_in_system_prompt')
  assert.equal(model.requests.length, 1, 'there is nothing to summarize')
})

test('after a restart the context still has its one summary', async (context) => {
  const { fixture, model, ask } = await openFixtureWith(context, [
    says(`first ${LONG}`),
    fails('context-overflow'),
    says('A summary.'),
    says('second'),
  ])
  await ask('one')
  await ask('two')
  await fixture.restart()
  await ask('three')
  const [summary] = model.requests.at(-1)!.messages
  assert.ok(summary?.role === 'summary', 'it is still there after a restart')
  assert.equal((await fixture.messages()).filter(({ body }) => body.role === 'summary').length, 1)
})

test('a requested compaction is a run of the conversation and records its summary', async (context) => {
  const { fixture, change, ask } = await openFixtureWith(context, [
    says(`first ${LONG}`),
    says('second'),
    says('A summary.'),
  ])
  await ask('one')
  await ask('two')
  const run = await change('compact')
  assert.equal(run.stopReason, 'end_turn')
  const compacted = (await fixture.events(run.id)).find((event) => event.type === 'context-compacted')
  assert.ok(compacted?.type === 'context-compacted')
  assert.deepEqual(textsOf((await fixture.messages()).map(({ body }) => body)), ['two', 'second', 'summary'])
})

test('after a reset neither the model nor a list has earlier messages, and their run still has them', async (context) => {
  const { fixture, model, change, ask } = await openFixtureWith(context, [says('first'), says('second')])
  const { id: earlier } = await ask('one')
  assert.equal((await change('reset')).stopReason, 'end_turn')
  await ask('two')
  assert.deepEqual(textsOf(model.requests.at(-1)!.messages), ['two'])
  const readable = await listMessages(fixture.conversationId, { take: 'newest', limit: 50 }, fixture.context)
  assert.deepEqual(textsOf(readable.map(({ body }) => body)), ['two', 'second'])
  const past = await fixture.context.deps.store.messages.ofRun(earlier)
  assert.deepEqual(textsOf(past.map(({ body }) => body)), ['one', 'first'])
})
