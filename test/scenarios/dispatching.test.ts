import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_QUEUED_INPUTS } from '../../src/core/admission.ts'
import type { RunId } from '../../src/core/id.ts'
import type { Problem } from '../../src/core/problem.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { requireConversation } from '../../src/service/conversations/conversations.ts'
import { sendMessage } from '../../src/service/messages/send-message.ts'
import { success } from '../../src/tools/define-tool.ts'
import { assertValidHistory, openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

// One run at a time per conversation; the sender chooses the admission policy of a second message.

/** A fixture whose first run holds the conversation until the gate opens. */
async function openBusyFixture(context: Parameters<typeof openHomeFixture>[0]) {
  const mayContinue = gate()
  const holding = gate()
  const hold = tool('hold', async (_, { signal }) => {
    holding.open()
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    await Promise.race([mayContinue.promise, aborted])
    return success('held')
  })
  const received: string[][] = []
  const fixture = await openHomeFixture(context, {
    tools: [hold],
    script: (request) => {
      const inputs = request.messages.flatMap((body) =>
        body.role === 'user' ? body.content.map((part) => (part.type === 'text' ? part.text : '')) : [],
      )
      received.push(inputs)
      const isFirst = inputs.length === 1 && !request.messages.some((body) => body.role === 'tool')
      return isFirst ? scriptOf({ calls: [{ tool: 'hold', input: {} }] }) : scriptOf({ text: 'ok' }, { text: 'ok' })
    },
  })
  const first = await fixture.send('first')
  await holding.promise
  return { fixture, first, mayContinue, received }
}

test('reject: a busy conversation refuses the message with the id of its run, and stores nothing', async (context) => {
  const { fixture, first, mayContinue } = await openBusyFixture(context)
  await assert.rejects(fixture.send('second', { policy: 'reject' }), (problem: Problem) => {
    assert.equal(problem.kind, 'busy')
    assert.equal(problem.details.runId, first)
    return true
  })
  mayContinue.open()
  await fixture.wait(first)
  const runs = await fixture.context.deps.store.runs.list(fixture.context.organizationId, {}, { limit: 10 })
  assert.equal(runs.length, 1)
})

test('queue: further inputs wait in order, up to a limit', async (context) => {
  const { fixture, mayContinue, received } = await openBusyFixture(context)
  const waiting: RunId[] = []
  for (let index = 0; index < MAX_QUEUED_INPUTS; index++) waiting.push(await fixture.send(`queued ${index}`))
  await assert.rejects(fixture.send('one too many'), { kind: 'queue-full' })
  mayContinue.open()
  for (const runId of waiting) assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
  const last = received.at(-1)!
  assert.deepEqual(last, ['first', ...waiting.map((_, index) => `queued ${index}`)])
  assertValidHistory(await fixture.messages())
})

test('interrupt: the first run ends before the second starts', async (context) => {
  const { fixture, first } = await openBusyFixture(context)
  const second = await fixture.send('second', { policy: 'interrupt' })
  assert.equal((await fixture.wait(second)).stopReason, 'end_turn')
  const interrupted = await fixture.get(first)
  assert.equal(interrupted.status, 'cancelled')
  assert.ok(interrupted.completedAt! <= (await fixture.get(second)).startedAt!)
  assertValidHistory(await fixture.messages())
})

test('steer: the input enters the running turn before its next model call', async (context) => {
  const { fixture, first, mayContinue, received } = await openBusyFixture(context)
  const steered = await fixture.send('and also this', { policy: 'steer' })
  assert.equal(steered, first)
  mayContinue.open()
  assert.equal((await fixture.wait(first)).stopReason, 'end_turn')
  assert.deepEqual(received, [['first'], ['first', 'and also this']])
  assert.deepEqual(
    (await fixture.messages()).map(({ body }) => body.role),
    ['user', 'assistant', 'tool', 'user', 'assistant'],
  )
})

test('a steer that arrives while the last answer is being written is answered in the same turn', async (context) => {
  let fixture: Awaited<ReturnType<typeof openHomeFixture>>
  let steering: Promise<unknown> | undefined
  fixture = await openHomeFixture(context, {
    script: (request) => {
      const inputs = request.messages.filter((body) => body.role === 'user').length
      if (inputs === 1) steering ??= fixture.send('wait, also this', { policy: 'steer' })
      return scriptOf({ text: `received ${inputs}` }, { text: `received ${inputs}` })
    },
  })
  const run = await fixture.ask('first')
  await steering
  const runs = await fixture.context.deps.store.runs.list(fixture.context.organizationId, {}, { limit: 10 })
  for (const each of runs) await fixture.wait(each.id)
  const inputs = (await fixture.messages()).filter(({ body }) => body.role === 'user')
  assert.equal(inputs.length, 2, 'it is read exactly once')
  assert.equal(run.status, 'completed')
  assertValidHistory(await fixture.messages())
})

test('a steer with nothing running is an ordinary message', async (context) => {
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'ok' }) })
  assert.equal((await fixture.ask('hello', { policy: 'steer' })).stopReason, 'end_turn')
})

test('the same idempotency key gives one run; another message with it is a conflict', async (context) => {
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'ok' }) })
  const [first, second] = await Promise.all([
    fixture.send('hello', { idempotencyKey: 'k' }),
    fixture.send('hello', { idempotencyKey: 'k' }),
  ])
  assert.equal(first, second)
  await fixture.wait(first)
  assert.equal(await fixture.send('hello', { idempotencyKey: 'k' }), first)
  await assert.rejects(fixture.send('other', { idempotencyKey: 'k' }), { kind: 'conflict' })
  assert.equal((await fixture.messages()).length, 2)
})

test('an otid gives one run in every mode, also after the end; another message with it is a conflict', async (context) => {
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'ok' }) })
  const [first, second] = await Promise.all([
    fixture.send('hello', { otid: 'o' }),
    fixture.send('hello', { otid: 'o' }),
  ])
  assert.equal(first, second)
  await fixture.wait(first)
  await fixture.crash()
  await fixture.restart()
  assert.equal(await fixture.send('hello', { otid: 'o' }), first)
  await assert.rejects(fixture.send('other', { otid: 'o' }), { kind: 'conflict' })
  assert.equal((await fixture.messages()).length, 2)
})

test('an empty message is refused and stores nothing', async (context) => {
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'ok' }) })
  await assert.rejects(fixture.send('   '), { kind: 'invalid' })
  assert.deepEqual(await fixture.context.deps.store.runs.list(fixture.context.organizationId, {}, { limit: 10 }), [])
})

test('no more turns run at once than the limit of the process, and all of them are served', async (context) => {
  let running = 0
  let most = 0
  const threeRun = gate()
  const work = tool('work', async () => {
    most = Math.max(most, ++running)
    if (running === 3) threeRun.open()
    await threeRun.promise
    running--
    return success('ok')
  })
  const fixture = await openHomeFixture(context, {
    maxRunning: 3,
    tools: [work],
    script: scriptOf({ calls: [{ tool: 'work', input: {} }] }, { text: 'done' }),
  })
  const sent = []
  for (let index = 0; index < 12; index++) {
    const agent = await createAgent({ name: `agent ${index}`, model: 'test/model', tools: ['work'] }, fixture.context)
    const { id: conversationId } = await requireConversation(agent, undefined, fixture.context)
    sent.push(sendMessage({ agent, conversationId, content: [{ type: 'text', text: 'go' }] }, fixture.context))
  }
  for (const { runId } of await Promise.all(sent)) assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
  assert.equal(most, 3)
})

test('a message that arrives while the dispatcher claims runs is not missed', async (context) => {
  const clock = newVirtualClock()
  const fixture = await openHomeFixture(context, { clock, maxRunning: 1, script: scriptOf({ text: 'ok' }) })
  await clock.settle()
  const { deps } = fixture.context
  const { claimNext } = deps.store.runs
  const arrived = gate<RunId>()
  let calls = 0
  const slowClaim: typeof claimNext = async (workerId) => {
    const answer = await claimNext(workerId)
    // This claim has the only slot, so the message is queued and sends a wake-up signal.
    if (calls++ === 0) arrived.open(await fixture.send('just now'))
    return answer
  }
  deps.store = { ...deps.store, runs: { ...deps.store.runs, claimNext: slowClaim } }
  fixture.context.engine!.dispatcher.wake('queue')
  // No virtual time passes, so no heartbeat can find it.
  const run = await fixture.wait(await arrived.promise)
  assert.equal(run.stopReason, 'end_turn')
})
