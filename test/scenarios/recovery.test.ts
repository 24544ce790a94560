import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Effects } from '../../src/core/tool-call.ts'
import { StorageError } from '../../src/ports/storage-error.ts'
import type { Store } from '../../src/ports/store.ts'
import type { Tool, Verification } from '../../src/ports/tool.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { success } from '../../src/tools/define-tool.ts'
import { assertValidHistory, type HomeFixture, openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'

// Every crash is recovered automatically, and the tool's declared effects decide whether a call is repeated.

const outcomes = async (fixture: HomeFixture) =>
  (await fixture.messages()).flatMap(({ body }) =>
    body.role === 'tool' ? body.outcomes.map(({ callId, status }) => `${callId} ${status}`) : [],
  )

/** A tool that hangs in its first execution and answers in the second. */
function interruptedOnce(effects: Effects, more: Partial<Tool> = {}) {
  const started = gate()
  const keys: string[] = []
  const work = tool(
    'work',
    (_, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      started.open()
      return keys.length === 1 ? new Promise(() => {}) : success('second time')
    },
    { effects, ...more },
  )
  return { work, started, keys }
}

async function crashIn(
  context: Parameters<typeof openHomeFixture>[0],
  { work, started }: ReturnType<typeof interruptedOnce>,
) {
  const fixture = await openHomeFixture(context, {
    tools: [work],
    script: scriptOf({ calls: [{ tool: 'work', input: {}, callId: 'a' }] }, { text: 'done' }),
  })
  const runId = await fixture.send('go')
  await started.promise
  await fixture.crash()
  await fixture.restart()
  const run = await fixture.wait(runId)
  assert.equal(run.stopReason, 'end_turn')
  assertValidHistory(await fixture.messages())
  return fixture
}

test('a started call without effects runs again', async (context) => {
  const interrupted = interruptedOnce('none')
  assert.deepEqual(await outcomes(await crashIn(context, interrupted)), ['a success'])
  assert.equal(interrupted.keys.length, 2)
})

test('a started idempotent call runs again with the same key', async (context) => {
  const interrupted = interruptedOnce('idempotent')
  assert.deepEqual(await outcomes(await crashIn(context, interrupted)), ['a success'])
  assert.equal(interrupted.keys.length, 2)
  assert.equal(interrupted.keys[0], interrupted.keys[1])
})

test('a started call with effects once never runs again: its outcome is unknown, and the model gets that result', async (context) => {
  const interrupted = interruptedOnce('once')
  assert.deepEqual(await outcomes(await crashIn(context, interrupted)), ['a unknown'])
  assert.equal(interrupted.keys.length, 1)
})

const VERIFICATIONS: [string, Verification, string, number][] = [
  ['took effect', { type: 'done', answer: success('it is there') }, 'a success', 1],
  ['did not take effect', { type: 'not-done' }, 'a success', 2],
  ['has an unknown effect', { type: 'unknown' }, 'a unknown', 1],
]
for (const [what, verification, outcome, executions] of VERIFICATIONS) {
  test(`a started verifiable call is verified first: one that ${what} ends as "${outcome}" after ${executions} execution(s)`, async (context) => {
    const interrupted = interruptedOnce('verifiable', { verify: async () => verification })
    assert.deepEqual(await outcomes(await crashIn(context, interrupted)), [outcome])
    assert.equal(interrupted.keys.length, executions)
  })
}

test('after a crash during the model call the call is repeated, the streamed text is reset, and the input is stored once', async (context) => {
  const streaming = gate()
  let calls = 0
  const fixture = await openHomeFixture(context, {
    script: () => {
      if (calls++ === 0)
        return scriptOf({ text: 'abandoned text', stall: true, after: 2, pace: { chunkSize: 5, delayMs: 0 } })
      return scriptOf({ text: 'whole' })
    },
  })
  const runId = await fixture.send('hello')
  const { watchRun } = await import('../../src/service/runs/watch-run.ts')
  for await (const { chunk } of watchRun(runId, { signal: AbortSignal.timeout(10_000) }, fixture.context)) {
    if (chunk.message_type === 'assistant_message') {
      streaming.open()
      break
    }
  }
  await streaming.promise
  await fixture.crash()
  await fixture.restart()
  assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
  assert.deepEqual(
    (await fixture.messages()).map(({ body }) => body.role),
    ['user', 'assistant'],
  )
  const kinds = (await fixture.chunks(runId)).map((chunk) => chunk.message_type)
  assert.equal(kinds.filter((kind) => kind === 'message_reset').length, 1)
  assert.deepEqual(kinds.slice(-3), ['stop_reason', 'usage_statistics', 'done'])
})

test('a run that kills its worker three times at one step ends with worker_lost and does not loop', async (context) => {
  let deaths = 0
  let dying = gate()
  const deadly = tool(
    'deadly',
    () => {
      deaths++
      dying.open()
      return new Promise(() => {})
    },
    { effects: 'none' },
  )
  const fixture = await openHomeFixture(context, {
    tools: [deadly],
    script: scriptOf({ calls: [{ tool: 'deadly', input: {} }] }, { text: 'x' }),
  })
  const runId = await fixture.send('go')
  for (let death = 0; death < 3; death++) {
    await dying.promise
    dying = gate()
    await fixture.crash()
    await fixture.restart()
  }
  const run = await fixture.wait(runId)
  assert.equal(run.status, 'failed')
  assert.equal(run.error?.errorType, 'worker_lost')
  assert.equal(deaths, 3)
  assertValidHistory(await fixture.messages())
})

test('a successful step clears the count of deaths', async (context) => {
  let dying = gate()
  const interruptions = new Set<string>()
  const flaky = tool(
    'flaky',
    (_, { callId }) => {
      if (interruptions.has(callId)) return success('fine')
      interruptions.add(callId)
      dying.open()
      return new Promise(() => {})
    },
    { effects: 'none' },
  )
  const steps = ['a', 'b', 'c', 'd'].map((callId) => ({ calls: [{ tool: 'flaky', input: {}, callId }] }))
  const fixture = await openHomeFixture(context, { tools: [flaky], script: scriptOf(...steps, { text: 'made it' }) })
  const runId = await fixture.send('go')
  for (let death = 0; death < 4; death++) {
    await dying.promise
    dying = gate()
    await fixture.crash()
    await fixture.restart()
  }
  assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
})

test('a graceful shutdown hands the run back without counting a death, and the next process continues', async (context) => {
  const stalled = gate()
  let calls = 0
  const fixture = await openHomeFixture(context, {
    script: () => {
      stalled.open()
      return calls++ === 0 ? scriptOf({ stall: true }) : scriptOf({ text: 'done' })
    },
  })
  const runId = await fixture.send('hello')
  await stalled.promise
  await fixture.stop()
  await fixture.restart()
  const run = await fixture.wait(runId)
  assert.equal(run.stopReason, 'end_turn')
  assert.equal((await fixture.events(runId)).filter((event) => event.type === 'worker-lost').length, 0)
})

test('a message that is committed while the process shuts down is handed back, and no turn goes on without its process', async (context) => {
  const committing = gate()
  const mayCommit = gate()
  let isLate = false
  const slow: (store: Store) => Store = (store) => ({
    ...store,
    runs: {
      ...store.runs,
      async open(run) {
        const opened = await store.runs.open(run)
        if (isLate) {
          committing.open()
          await mayCommit.promise
        }
        return opened
      },
    },
  })
  const fixture = await openHomeFixture(context, { wrapStore: slow, script: scriptOf({ text: 'done' }) })
  isLate = true
  const sent = fixture.send('hello')
  await committing.promise
  const stopped = fixture.stop()
  let isOver = false
  void stopped.then(() => {
    isOver = true
  })
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(isOver, false, 'the store must stay open')
  mayCommit.open()
  const runId = await sent
  await stopped
  isLate = false
  await fixture.restart()
  assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
  assert.equal((await fixture.events(runId)).filter((event) => event.type === 'worker-lost').length, 0)
  assert.deepEqual(fixture.faults, [])
})

test('runs that were queued when the process died are run in order by the next one', async (context) => {
  const stalled = gate()
  const order: string[] = []
  let calls = 0
  const fixture = await openHomeFixture(context, {
    script: (request) => {
      order.push(JSON.stringify(request.messages.at(-1)).match(/number \d/)?.[0] ?? '')
      stalled.open()
      return calls++ === 0 ? scriptOf({ stall: true }) : scriptOf({ text: 'done' })
    },
  })
  await fixture.send('number 1')
  await fixture.send('number 2')
  const last = await fixture.send('number 3')
  await stalled.promise
  await fixture.restart()
  await fixture.wait(last)
  assert.deepEqual(order, ['number 1', 'number 1', 'number 2', 'number 3'])
  assertValidHistory(await fixture.messages())
})

test('a call that the model repeats in a later answer, with the same id and arguments, is another call with another idempotency key', async (context) => {
  const keys: string[] = []
  const write = tool(
    'write',
    (_, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      return success('written')
    },
    { effects: 'idempotent' },
  )
  const same = { calls: [{ tool: 'write', input: { text: 'hello' }, callId: 'call_0' }] }
  const fixture = await openHomeFixture(context, { tools: [write], script: scriptOf(same, same, { text: 'done' }) })
  await fixture.ask('write it twice')
  assert.equal(keys.length, 2)
  assert.notEqual(keys[0], keys[1])
})

test('a process whose store is unavailable at shutdown logs it and stops', async (context) => {
  const away: (store: Store) => Store = (store) => ({
    ...store,
    workers: {
      ...store.workers,
      async leave() {
        throw new StorageError('unreachable', 'connection refused')
      },
    },
  })
  const fixture = await openHomeFixture(context, { wrapStore: away, script: scriptOf({ text: 'done' }) })
  await fixture.ask('hello')
  await fixture.stop()
  assert.equal(fixture.faults.length, 1)
})
