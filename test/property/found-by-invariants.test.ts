import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chunk } from '../../src/core/chunk.ts'
import type { LoggedEvent } from '../../src/core/event.ts'
import { catchUpStream } from '../../src/engine/catch-up-stream.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { answerApproval } from '../../src/service/approvals/answer-approval.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { checkStore } from '../../src/service/store/check-store.ts'
import { success } from '../../src/tools/define-tool.ts'
import { openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'

// Regression tests of faults that an invariant found.

test('after a cancel while a lost call is verified the call is not started', async (context) => {
  const isVerifying = gate()
  const mayTell = gate()
  const started = gate()
  const pay = tool(
    'pay',
    () => {
      started.open()
      return new Promise(() => {})
    },
    {
      effects: 'verifiable',
      verify: async () => {
        isVerifying.open()
        await mayTell.promise
        return { type: 'not-done' }
      },
    },
  )
  const fixture = await openHomeFixture(context, {
    tools: [pay],
    script: scriptOf({ calls: [{ tool: 'pay', input: {}, callId: 'c1' }] }, { text: 'done' }),
  })
  const runId = await fixture.send('pay')
  await started.promise
  await fixture.restart()
  await isVerifying.promise
  await cancelRun(runId, fixture.context)
  mayTell.open()
  assert.equal((await fixture.wait(runId)).status, 'cancelled')
  const types = (await fixture.events(runId)).map((event) => event.type)
  assert.deepEqual(
    types.slice(types.indexOf('cancel-requested')).filter((type) => type === 'tool-started'),
    [],
  )
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
})

test('a message steered in before an approval request is read after it, and the results stay with their calls', async (context) => {
  const fixture = await openHomeFixture(context, {
    tools: [tool('bash', () => success('ran'), { needsApproval: true })],
    script: scriptOf(
      { text: 'let me look', calls: [{ tool: 'bash', input: {}, callId: 'c1' }], pace: { chunkSize: 1, delayMs: 20 } },
      { text: 'done' },
    ),
  })
  const runId = await fixture.send('go')
  while (fixture.requests.length === 0) await fixture.context.deps.clock.sleep(5)
  await fixture.send('and hurry', { policy: 'steer' })
  assert.equal((await fixture.wait(runId)).waiting, true)
  const next = await answerApproval({ runId, verdicts: [{ callId: 'c1', verdict: 'approve' }] }, fixture.context)
  await fixture.wait(next)
  assert.deepEqual((await checkStore(fixture.context)).violations, [])
  const roles = (await fixture.messages()).map(({ body }) => body.role)
  assert.deepEqual(roles, ['user', 'assistant', 'approval', 'tool', 'user', 'assistant'])
})

test('streamed reasoning that is not kept after a cancel is reset', async (context) => {
  const fixture = await openHomeFixture(context, {
    script: scriptOf({ reasoning: 'let me think about this for a while', stall: true, after: 1 }),
  })
  const runId = await fixture.send('think')
  const { streams } = fixture.context.deps
  for await (const { chunk } of streams.watch(runId, { after: 0, signal: AbortSignal.timeout(5_000) }))
    if (chunk.message_type === 'reasoning_message') break
  await cancelRun(runId, fixture.context)
  await fixture.wait(runId)
  const types = (await fixture.chunks(runId)).map((chunk) => chunk.message_type)
  assert.deepEqual(types, ['reasoning_message', 'message_reset', 'stop_reason', 'done'])
})

test('a stream whose beginning was lost begins again with a reset', () => {
  const settings = {
    targets: ['a/1' as const],
    maxSteps: 1,
    maxDurationMs: 1,
    streamTokens: true,
    onGuarded: 'ask' as const,
    approvalTtlMs: 1,
  }
  const events: LoggedEvent[] = [
    { seq: 1, at: 1, event: { type: 'input-accepted', v: 1, inputs: [], settings } },
    { seq: 2, at: 2, event: { type: 'turn-ended', v: 1, stopReason: 'cancelled' } },
  ]
  const written: Chunk[] = []
  catchUpStream(events, {
    write: (chunks) => void written.push(...chunks),
    settle: async () => 0,
    begin: async () => {},
    found: { last: 0, lastEvent: 0, ended: false, mayHaveLost: true },
  })
  assert.equal(written[0]?.message_type, 'message_reset')
})

test('partial text of a dead worker is reset although an earlier answer was streamed whole', () => {
  const settings = {
    targets: ['a/1' as const],
    maxSteps: 9,
    maxDurationMs: 1,
    streamTokens: true,
    onGuarded: 'ask' as const,
    approvalTtlMs: 1,
  }
  const usage = { promptTokens: 0, completionTokens: 0 }
  const ids = { stepId: 'step-1', answerId: 'message-1', resultsId: 'message-2' } as const
  const position = { target: 0, inputsRead: 1, streamedTo: 1 }
  const steered = [{ messageId: 'message-9' as const, role: 'user' as const, content: [] }]
  const log: LoggedEvent['event'][] = [
    { type: 'input-accepted', v: 1, inputs: steered, settings },
    { type: 'input-steered', v: 1, inputs: steered },
    {
      type: 'answer-received',
      v: 1,
      content: [{ type: 'text', text: 'told' }],
      calls: [],
      finish: 'stop',
      usage,
      ...ids,
      ...position,
    },
    { type: 'worker-lost', v: 1, fence: 1 },
  ]
  const written: Chunk[] = []
  catchUpStream(
    log.map((event, index) => ({ seq: index + 1, at: 1, event })),
    {
      write: (chunks) => void written.push(...chunks),
      settle: async () => 0,
      begin: async () => {},
      found: {
        last: 3,
        lastEvent: 0,
        ended: false,
        mayHaveLost: false,
        partial: { id: 'message-5', text: 'half', reasoning: '', calls: new Map() },
      },
    },
  )
  assert.deepEqual(
    written.map((chunk) => chunk.message_type),
    ['message_reset', 'worker_lost'],
  )
})
