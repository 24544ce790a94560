import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunId } from '../../src/core/id.ts'
import type { Message } from '../../src/core/message.ts'
import type { Problem } from '../../src/core/problem.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { answerApproval } from '../../src/service/approvals/answer-approval.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { watchRun } from '../../src/service/runs/watch-run.ts'
import { success } from '../../src/tools/define-tool.ts'
import { assertValidHistory, type HomeFixture, openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

// A cancel at any point leads to one terminal state and a conversation that is usable at once.

const outcomesOf = (messages: Message[]) => messages.flatMap(({ body }) => (body.role === 'tool' ? body.outcomes : []))

async function assertUsable(fixture: HomeFixture) {
  const run = await fixture.ask('are you still there?')
  assert.equal(run.stopReason, 'end_turn')
  assertValidHistory(await fixture.messages())
}

/** Resolves with the text so far after `count` text chunks. */
async function watchText(fixture: HomeFixture, runId: RunId, count: number): Promise<string> {
  let text = ''
  let seen = 0
  for await (const { chunk } of watchRun(runId, { signal: AbortSignal.timeout(10_000) }, fixture.context)) {
    if (chunk.message_type !== 'assistant_message') continue
    text += chunk.content
    if (++seen === count) break
  }
  return text
}

test('a run cancelled before it starts ends cancelled, never runs, and leaves the conversation as it was', async (context) => {
  const mayFinish = gate()
  const wait = tool('wait', () => mayFinish.promise.then(() => success('waited')))
  const fixture = await openHomeFixture(context, {
    tools: [wait],
    script: (request) =>
      JSON.stringify(request.messages.at(-1)).includes('first')
        ? scriptOf({ calls: [{ tool: 'wait', input: {} }] })
        : scriptOf({ text: 'ok' }, { text: 'ok' }),
  })
  const first = await fixture.send('first')
  const second = await fixture.send('second')
  assert.equal((await fixture.get(second)).status, 'created')
  const cancelled = await cancelRun(second, fixture.context)
  assert.equal(cancelled.status, 'cancelled')
  assert.equal(cancelled.stopReason, 'cancelled')
  mayFinish.open()
  await fixture.wait(first)
  const inputs = (await fixture.messages()).filter(({ body }) => body.role === 'user')
  assert.equal(inputs.length, 1, 'the input of a run that never ran stays on the run')
  assertValidHistory(await fixture.messages())
  assert.deepEqual(
    (await fixture.chunks(second)).map((chunk) => chunk.message_type),
    ['stop_reason', 'done'],
  )
})

test('text streamed before a cancel is kept as a cut answer, and the run is cancelled', async (context) => {
  const fixture = await openHomeFixture(context, {
    script: scriptOf({
      text: 'one two three four five six',
      pace: { chunkSize: 4, delayMs: 5 },
      stall: true,
      after: 3,
    }),
  })
  const runId = await fixture.send('tell me', { streamTokens: true })
  const seen = await watchText(fixture, runId, 3)
  await cancelRun(runId, fixture.context)
  const run = await fixture.wait(runId)
  assert.equal(run.status, 'cancelled')
  assert.equal(run.stopReason, 'cancelled')
  const last = (await fixture.messages()).at(-1)
  assert.ok(last?.body.role === 'assistant' && last.body.cut && last.body.calls.length === 0)
  assert.deepEqual(last.body.content, [{ type: 'text', text: seen }])
  const kinds = (await fixture.chunks(runId)).map((chunk) => chunk.message_type)
  assert.deepEqual(kinds.slice(-2), ['stop_reason', 'done'])
  assert.equal(kinds.filter((kind) => kind === 'stop_reason').length, 1)
})

test('without token streaming the unread text of a cancelled answer is dropped and the input stays', async (context) => {
  const started = gate()
  const fixture = await openHomeFixture(context, {
    script: () => {
      started.open()
      return scriptOf({ text: 'half an answer', stall: true, after: 1 })
    },
  })
  const runId = await fixture.send('hello', { streamTokens: false })
  await started.promise
  await cancelRun(runId, fixture.context)
  assert.equal((await fixture.wait(runId)).status, 'cancelled')
  assert.deepEqual(
    (await fixture.messages()).map(({ body }) => body.role),
    ['user'],
  )
})

test('a cancel between steps keeps every completed step and starts nothing more', async (context) => {
  let toolRuns = 0
  const print = tool('print', async () => {
    toolRuns++
    await cancelRun(runId, fixture.context)
    return success('printed')
  })
  const fixture = await openHomeFixture(context, {
    tools: [print],
    script: scriptOf(
      { calls: [{ tool: 'print', input: {} }] },
      { calls: [{ tool: 'print', input: {} }] },
      { text: 'end' },
    ),
  })
  const runId = await fixture.send('print')
  const run = await fixture.wait(runId)
  assert.equal(run.stopReason, 'cancelled')
  assert.equal(toolRuns, 1)
  const messages = await fixture.messages()
  assert.deepEqual(
    messages.map(({ body }) => body.role),
    ['user', 'assistant', 'tool'],
  )
  assert.equal(outcomesOf(messages)[0]?.status, 'success', 'a tool that finished has its real result')
  assert.equal(fixture.requests.length, 1)
})

test('a cancel during several tools aborts the running one and denies the ones after it', async (context) => {
  const running = gate()
  const aborted = gate()
  const slow = tool('slow', async (_, { signal }) => {
    running.open()
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    aborted.open()
    return success('stopped in time')
  })
  const fixture = await openHomeFixture(context, {
    tools: [slow],
    script: scriptOf({ calls: ['a', 'b', 'c'].map((callId) => ({ tool: 'slow', input: {}, callId })) }, { text: 'x' }),
  })
  const runId = await fixture.send('go')
  await running.promise
  await cancelRun(runId, fixture.context)
  await aborted.promise
  const run = await fixture.wait(runId)
  assert.equal(run.status, 'cancelled')
  const outcomes = outcomesOf(await fixture.messages())
  assert.deepEqual(
    outcomes.map(({ callId, status }) => [callId, status]),
    [
      ['a', 'success'],
      ['b', 'denied'],
      ['c', 'denied'],
    ],
  )
  for (const denied of outcomes.slice(1)) assert.match(denied.output, /cancelled before this call started/)
  assertValidHistory(await fixture.messages())
})

test('a tool that ignores the abort is given up after five seconds, and is never recorded as denied', async (context) => {
  const clock = newVirtualClock()
  const running = gate()
  const deaf = tool('deaf', () => {
    running.open()
    return new Promise(() => {})
  })
  const fixture = await openHomeFixture(context, {
    clock,
    tools: [deaf],
    script: scriptOf({ calls: [{ tool: 'deaf', input: {} }] }),
  })
  const runId = await fixture.send('go')
  await running.promise
  await cancelRun(runId, fixture.context)
  await clock.advance(4_900)
  assert.equal((await fixture.get(runId)).status, 'running')
  await clock.advance(200)
  const run = await fixture.wait(runId)
  assert.equal(run.status, 'cancelled')
  const [outcome] = outcomesOf(await fixture.messages())
  assert.equal(outcome?.status, 'unknown')
  assert.match(outcome.output, /cancelled while this call was running/)
})

test('an abort takes effect at once, also with a provider that ignores it', async (context) => {
  const called = gate()
  const deafProvider = {
    stream: async function* () {
      called.open()
      await new Promise(() => {})
    },
  }
  const fixture = await openHomeFixture(context, {
    clock: newVirtualClock(),
    providers: () => ({ test: deafProvider }),
  })
  const runId = await fixture.send('hello')
  await called.promise
  await cancelRun(runId, fixture.context)
  // No virtual time passes at all.
  assert.equal((await fixture.wait(runId)).status, 'cancelled')
})

const guardedTool = (name: string, work?: () => ReturnType<typeof success>) => tool(name, work, { needsApproval: true })

test('a cancel while an approval is open denies every call, guarded or not, without calling the model', async (context) => {
  let runs = 0
  const count = () => {
    runs++
    return success('ran')
  }
  const fixture = await openHomeFixture(context, {
    tools: [guardedTool('bash', count), tool('print', count)],
    script: (request) =>
      JSON.stringify(request.messages.at(-1)).includes('three')
        ? scriptOf({
            calls: [
              { tool: 'bash', input: { run: 'ls' }, callId: 'a' },
              { tool: 'print', input: {}, callId: 'b' },
              { tool: 'bash', input: { run: 'pwd' }, callId: 'c' },
            ],
          })
        : scriptOf({ text: 'hello' }),
  })
  const waiting = await fixture.ask('call three tools')
  assert.equal(waiting.stopReason, 'requires_approval')
  assert.equal(waiting.status, 'completed')
  await assert.rejects(fixture.send('hello?'), (problem: Problem) => {
    assert.equal(problem.kind, 'pending-approval')
    assert.deepEqual(problem.details.callIds, ['a', 'c'])
    return true
  })
  const requests = fixture.requests.length
  const cancelled = await cancelRun(waiting.id, fixture.context)
  assert.equal(cancelled.status, 'cancelled')
  assert.equal(cancelled.stopReason, 'cancelled')
  const messages = await fixture.messages()
  assert.deepEqual(
    messages.map(({ body }) => body.role),
    ['user', 'assistant', 'approval', 'tool'],
  )
  const outcomes = outcomesOf(messages)
  assert.deepEqual(
    outcomes.map(({ callId, status }) => [callId, status]),
    [
      ['a', 'denied'],
      ['b', 'denied'],
      ['c', 'denied'],
    ],
  )
  for (const outcome of outcomes) assert.match(outcome.output, /Denied: the run was cancelled/)
  assert.equal(fixture.requests.length, requests)
  assert.equal(runs, 0)
  const answer = answerApproval({ runId: waiting.id, verdicts: [{ callId: 'a', verdict: 'approve' }] }, fixture.context)
  await assert.rejects(answer, /came too late and changes nothing.* were denied .* because it was cancelled/)
  await assertUsable(fixture)
})

test('after a cancelled approval the agent is not stuck waiting: other tools run', async (context) => {
  const fixture = await openHomeFixture(context, {
    tools: [guardedTool('bash'), tool('print')],
    script: (request) => {
      const last = JSON.stringify(request.messages.findLast((body) => body.role === 'user'))
      return scriptOf({ calls: [{ tool: last.includes('bash') ? 'bash' : 'print', input: {} }] }, { text: 'done' })
    },
  })
  const waiting = await fixture.ask('bash')
  await cancelRun(waiting.id, fixture.context)
  const run = await fixture.ask('print')
  assert.equal(run.stopReason, 'end_turn')
  assert.equal((await fixture.get(waiting.id)).status, 'cancelled')
  assertValidHistory(await fixture.messages())
})

test('the conversation has every message of a cancelled run, and no other', async (context) => {
  const fixture = await openHomeFixture(context, {
    tools: [guardedTool('bash')],
    script: scriptOf({ calls: [{ tool: 'bash', input: {} }] }),
  })
  const waiting = await fixture.ask('bash', { background: true, streamTokens: true })
  const before = await fixture.context.deps.store.messages.ofRun(waiting.id)
  assert.equal(before.length, 2, 'the request that waits is already in the conversation')
  await cancelRun(waiting.id, fixture.context)
  const ofRun = await fixture.context.deps.store.messages.ofRun(waiting.id)
  const inContext = await fixture.messages()
  assert.deepEqual(
    ofRun.map(({ id }) => id),
    inContext.map(({ id }) => id),
  )
})

test('a second cancel changes nothing, and a settled run is returned unchanged', async (context) => {
  const stalled = gate()
  const fixture = await openHomeFixture(context, {
    script: () => {
      stalled.open()
      return scriptOf({ stall: true })
    },
  })
  const runId = await fixture.send('hello')
  await stalled.promise
  await Promise.all([cancelRun(runId, fixture.context), cancelRun(runId, fixture.context)])
  const first = await fixture.wait(runId)
  const events = await fixture.events(runId)
  const again = await cancelRun(runId, fixture.context)
  assert.deepEqual(again, first)
  assert.deepEqual(await fixture.events(runId), events)
  assert.equal(events.filter((event) => event.type === 'turn-ended').length, 1)
})

test('a cancel after the end leaves the completed run as it is', async (context) => {
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'hi' }) })
  const run = await fixture.ask('hello')
  assert.deepEqual(await cancelRun(run.id, fixture.context), run)
  assert.equal(run.stopReason, 'end_turn')
})

test('a cancel at the step limit takes precedence: the run is cancelled', async (context) => {
  const print = tool('print', async () => {
    await cancelRun(runId, fixture.context)
    return success('printed')
  })
  const fixture = await openHomeFixture(context, {
    tools: [print],
    script: scriptOf({ calls: [{ tool: 'print', input: {} }] }, { text: 'x' }),
  })
  const runId = await fixture.send('print', { maxSteps: 1 })
  assert.equal((await fixture.wait(runId)).stopReason, 'cancelled')
})

test('of a cancel and an approval at the same moment exactly one takes effect', async (context) => {
  let runs = 0
  const bash = guardedTool('bash', () => {
    runs++
    return success('ran')
  })
  const fixture = await openHomeFixture(context, {
    tools: [bash],
    script: scriptOf({ calls: [{ tool: 'bash', input: {}, callId: 'a' }] }, { text: 'done' }),
  })
  for (let round = 0; round < 10; round++) {
    const before = runs
    const waiting = await fixture.ask(`bash ${round}`)
    const [cancelled, answered] = await Promise.allSettled([
      cancelRun(waiting.id, fixture.context),
      answerApproval({ runId: waiting.id, verdicts: [{ callId: 'a', verdict: 'approve' }] }, fixture.context),
    ])
    const settled = await fixture.get(waiting.id)
    if (answered.status === 'fulfilled') {
      await fixture.wait(answered.value)
      assert.equal(settled.status, 'completed')
      assert.equal(runs, before + 1)
    } else {
      assert.equal(cancelled.status, 'fulfilled')
      assert.equal(settled.status, 'cancelled')
      assert.equal(runs, before)
    }
    assertValidHistory(await fixture.messages())
  }
})

test('a cancel accepted while the process dies is completed by the next one', async (context) => {
  const stalled = gate()
  const fixture = await openHomeFixture(context, {
    script: () => {
      stalled.open()
      return scriptOf({ stall: true })
    },
  })
  const runId = await fixture.send('hello')
  await stalled.promise
  await cancelRun(runId, fixture.context)
  await fixture.crash()
  await fixture.restart()
  const run = await fixture.wait(runId)
  assert.equal(run.stopReason, 'cancelled')
})

test('a cancel accepted just before a graceful shutdown is completed by the process that stops', async (context) => {
  const stalled = gate()
  const fixture = await openHomeFixture(context, {
    script: () => {
      stalled.open()
      return scriptOf({ stall: true })
    },
  })
  const runId = await fixture.send('hello')
  await stalled.promise
  await cancelRun(runId, fixture.context)
  await fixture.stop()
  await fixture.restart()
  const events = await fixture.events(runId)
  assert.equal((await fixture.get(runId)).status, 'cancelled')
  assert.ok(!events.some((event) => event.type === 'worker-lost'))
})

test('after a cancel while the history is read there is no model call', async (context) => {
  const reading = gate()
  const mayRead = gate()
  const fixture = await openHomeFixture(context, { script: scriptOf({ text: 'too late' }) })
  const { deps } = fixture.context
  const { context: readContext } = deps.store.messages
  const slowContext: typeof readContext = async (id) => {
    reading.open()
    await mayRead.promise
    return readContext(id)
  }
  deps.store = { ...deps.store, messages: { ...deps.store.messages, context: slowContext } }
  const runId = await fixture.send('hello')
  await reading.promise
  await cancelRun(runId, fixture.context)
  // The wake-up signal has aborted the attempt when the log is read again; only then may the history arrive.
  await new Promise((resolve) => setTimeout(resolve, 0))
  await fixture.context.deps.store.events.read(runId, 0)
  mayRead.open()
  assert.equal((await fixture.wait(runId)).status, 'cancelled')
  assert.equal(fixture.requests.length, 0)
})
