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
async function busyHouse(context: Parameters<typeof openHomeFixture>[0]) {
  const mayGoOn = gate()
  const holding = gate()
  const hold = tool('hold', async (_, { signal }) => {
    holding.open()
    const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    await Promise.race([mayGoOn.promise, aborted])
    return success('held')
  })
  const heard: string[][] = []
  const house = await openHomeFixture(context, {
    tools: [hold],
    script: (request) => {
      const said = request.messages.flatMap((body) =>
        body.role === 'user' ? body.content.map((part) => (part.type === 'text' ? part.text : '')) : [],
      )
      heard.push(said)
      const isFirst = said.length === 1 && !request.messages.some((body) => body.role === 'tool')
      return isFirst ? scriptOf({ calls: [{ tool: 'hold', input: {} }] }) : scriptOf({ text: 'ok' }, { text: 'ok' })
    },
  })
  const first = await house.send('first')
  await holding.promise
  return { house, first, mayGoOn, heard }
}

test('reject: a busy conversation refuses the message with the id of its run, and stores nothing', async (context) => {
  const { house, first, mayGoOn } = await busyHouse(context)
  await assert.rejects(house.send('second', { policy: 'reject' }), (problem: Problem) => {
    assert.equal(problem.kind, 'busy')
    assert.equal(problem.details.runId, first)
    return true
  })
  mayGoOn.open()
  await house.wait(first)
  const runs = await house.context.deps.store.runs.list(house.context.organizationId, {}, { limit: 10 })
  assert.equal(runs.length, 1)
})

test('enqueue: further inputs wait in order, up to a limit', async (context) => {
  const { house, mayGoOn, heard } = await busyHouse(context)
  const waiting: RunId[] = []
  for (let index = 0; index < MAX_QUEUED_INPUTS; index++) waiting.push(await house.send(`queued ${index}`))
  await assert.rejects(house.send('one too many'), { kind: 'queue-full' })
  mayGoOn.open()
  for (const runId of waiting) assert.equal((await house.wait(runId)).stopReason, 'end_turn')
  const last = heard.at(-1)!
  assert.deepEqual(last, ['first', ...waiting.map((_, index) => `queued ${index}`)])
  assertValidHistory(await house.messages())
})

test('interrupt: the first run ends before the second starts', async (context) => {
  const { house, first } = await busyHouse(context)
  const second = await house.send('second', { policy: 'interrupt' })
  assert.equal((await house.wait(second)).stopReason, 'end_turn')
  const interrupted = await house.get(first)
  assert.equal(interrupted.status, 'cancelled')
  assert.ok(interrupted.completedAt! <= (await house.get(second)).startedAt!)
  assertValidHistory(await house.messages())
})

test('steer: the input enters the running turn before its next model call', async (context) => {
  const { house, first, mayGoOn, heard } = await busyHouse(context)
  const steered = await house.send('and also this', { policy: 'steer' })
  assert.equal(steered, first)
  mayGoOn.open()
  assert.equal((await house.wait(first)).stopReason, 'end_turn')
  assert.deepEqual(heard, [['first'], ['first', 'and also this']])
  assert.deepEqual(
    (await house.messages()).map(({ body }) => body.role),
    ['user', 'assistant', 'tool', 'user', 'assistant'],
  )
})

test('a steer that arrives while the last answer is being written is answered in the same turn', async (context) => {
  let house: Awaited<ReturnType<typeof openHomeFixture>>
  let steering: Promise<unknown> | undefined
  house = await openHomeFixture(context, {
    script: (request) => {
      const said = request.messages.filter((body) => body.role === 'user').length
      if (said === 1) steering ??= house.send('wait, also this', { policy: 'steer' })
      return scriptOf({ text: `heard ${said}` }, { text: `heard ${said}` })
    },
  })
  const run = await house.ask('first')
  await steering
  const runs = await house.context.deps.store.runs.list(house.context.organizationId, {}, { limit: 10 })
  for (const each of runs) await house.wait(each.id)
  const said = (await house.messages()).filter(({ body }) => body.role === 'user')
  assert.equal(said.length, 2, 'whenever it arrives, it is heard exactly once')
  assert.equal(run.status, 'completed')
  assertValidHistory(await house.messages())
})

test('a steer with nothing running is an ordinary message', async (context) => {
  const house = await openHomeFixture(context, { script: scriptOf({ text: 'ok' }) })
  assert.equal((await house.ask('hello', { policy: 'steer' })).stopReason, 'end_turn')
})

test('the same idempotency key gives one run; another message with it is a conflict', async (context) => {
  const house = await openHomeFixture(context, { script: scriptOf({ text: 'ok' }) })
  const [first, second] = await Promise.all([
    house.send('hello', { idempotencyKey: 'k' }),
    house.send('hello', { idempotencyKey: 'k' }),
  ])
  assert.equal(first, second)
  await house.wait(first)
  assert.equal(await house.send('hello', { idempotencyKey: 'k' }), first)
  await assert.rejects(house.send('other', { idempotencyKey: 'k' }), { kind: 'conflict' })
  assert.equal((await house.messages()).length, 2)
})

test('an otid gives one run in every mode, also after the end; another message with it is a conflict', async (context) => {
  const house = await openHomeFixture(context, { script: scriptOf({ text: 'ok' }) })
  const [first, second] = await Promise.all([house.send('hello', { otid: 'o' }), house.send('hello', { otid: 'o' })])
  assert.equal(first, second)
  await house.wait(first)
  await house.crash()
  await house.restart()
  assert.equal(await house.send('hello', { otid: 'o' }), first)
  await assert.rejects(house.send('other', { otid: 'o' }), { kind: 'conflict' })
  assert.equal((await house.messages()).length, 2)
})

test('an empty message is refused and stores nothing', async (context) => {
  const house = await openHomeFixture(context, { script: scriptOf({ text: 'ok' }) })
  await assert.rejects(house.send('   '), { kind: 'invalid' })
  assert.deepEqual(await house.context.deps.store.runs.list(house.context.organizationId, {}, { limit: 10 }), [])
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
  const house = await openHomeFixture(context, {
    maxRunning: 3,
    tools: [work],
    script: scriptOf({ calls: [{ tool: 'work', input: {} }] }, { text: 'done' }),
  })
  const sent = []
  for (let index = 0; index < 12; index++) {
    const agent = await createAgent({ name: `agent ${index}`, model: 'test/model', tools: ['work'] }, house.context)
    const { id: conversationId } = await requireConversation(agent, undefined, house.context)
    sent.push(sendMessage({ agent, conversationId, content: [{ type: 'text', text: 'go' }] }, house.context))
  }
  for (const { runId } of await Promise.all(sent)) assert.equal((await house.wait(runId)).stopReason, 'end_turn')
  assert.equal(most, 3)
})

test('a message that arrives while the dispatcher claims runs is not missed', async (context) => {
  const clock = newVirtualClock()
  const house = await openHomeFixture(context, { clock, maxRunning: 1, script: scriptOf({ text: 'ok' }) })
  await clock.settle()
  const { deps } = house.context
  const { claimNext } = deps.store.runs
  const arrived = gate<RunId>()
  let calls = 0
  const slowClaim: typeof claimNext = async (workerId) => {
    const answer = await claimNext(workerId)
    // This claim has the only slot, so the message is queued and sends a wake-up signal.
    if (calls++ === 0) arrived.open(await house.send('just now'))
    return answer
  }
  deps.store = { ...deps.store, runs: { ...deps.store.runs, claimNext: slowClaim } }
  house.context.engine!.dispatcher.wake('queue')
  // No virtual time passes, so no heartbeat can find it.
  const run = await house.wait(await arrived.promise)
  assert.equal(run.stopReason, 'end_turn')
})
