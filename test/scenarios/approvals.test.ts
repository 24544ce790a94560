import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Verdict } from '../../src/core/approval.ts'
import type { Problem } from '../../src/core/problem.ts'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { answerApproval } from '../../src/service/approvals/answer-approval.ts'
import { listApprovals } from '../../src/service/approvals/approvals.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { success } from '../../src/tools/define-tool.ts'
import { assertValidHistory, type HomeFixture, openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

// An approval is requested once, for one exact call, without a time limit in memory: a waiting run is only stored.

const ran: string[] = []
const remember =
  (name: string) =>
  (_: unknown, { callId }: { callId: string }) => {
    ran.push(`${name} ${callId}`)
    return success(`${name} ran`)
  }
const guarded = () => tool('bash', remember('bash'), { needsApproval: true })
const free = () => tool('print', remember('print'))

const MIXED = scriptOf(
  {
    calls: [
      { tool: 'bash', input: { run: 'ls' }, callId: 'a' },
      { tool: 'print', input: {}, callId: 'b' },
      { tool: 'bash', input: { run: 'rm' }, callId: 'c' },
    ],
  },
  { text: 'done' },
)

async function openWaitingFixture(
  context: Parameters<typeof openHomeFixture>[0],
  more: Parameters<typeof openHomeFixture>[1] = {},
) {
  ran.length = 0
  const fixture = await openHomeFixture(context, { tools: [guarded(), free()], script: MIXED, ...more })
  const run = await fixture.ask('do three things')
  assert.equal(run.stopReason, 'requires_approval')
  assert.deepEqual(ran, [], 'no call of an answer runs while one of them waits for approval')
  return { fixture, run }
}

const answer = (fixture: HomeFixture, runId: string, verdicts: Verdict[]) =>
  answerApproval({ runId, verdicts }, fixture.context)

const statuses = async (fixture: HomeFixture) =>
  (await fixture.messages()).flatMap(({ body }) =>
    body.role === 'tool' ? body.outcomes.map(({ callId, status }) => `${callId} ${status}`) : [],
  )

test('several pending calls: approved and unguarded ones run in order, the denied one has the reason as result', async (context) => {
  const { fixture, run } = await openWaitingFixture(context)
  const next = await answer(fixture, run.id, [
    { callId: 'c', verdict: 'deny', reason: 'too dangerous' },
    { callId: 'a', verdict: 'approve' },
  ])
  assert.equal((await fixture.wait(next)).stopReason, 'end_turn')
  assert.deepEqual(ran, ['bash a', 'print b'])
  assert.deepEqual(await statuses(fixture), ['a success', 'b success', 'c denied'])
  const messages = await fixture.messages()
  assert.deepEqual(
    messages.map(({ body }) => body.role),
    ['user', 'assistant', 'approval', 'tool', 'assistant'],
  )
  const denied = messages
    .flatMap(({ body }) => (body.role === 'tool' ? body.outcomes : []))
    .find(({ callId }) => callId === 'c')
  assert.match(denied!.output, /too dangerous/)
  assertValidHistory(messages)
})

test('a partial answer, an unknown call and other arguments are refused and change nothing', async (context) => {
  const { fixture, run } = await openWaitingFixture(context)
  const before = await fixture.events(run.id)
  const bad: Verdict[][] = [
    [{ callId: 'a', verdict: 'approve' }],
    [
      { callId: 'a', verdict: 'approve' },
      { callId: 'x', verdict: 'approve' },
    ],
    [
      { callId: 'a', verdict: 'approve' },
      { callId: 'a', verdict: 'deny' },
    ],
    [
      { callId: 'a', verdict: 'approve', digest: 'of other arguments' },
      { callId: 'c', verdict: 'approve' },
    ],
    [],
  ]
  for (const verdicts of bad) await assert.rejects(answer(fixture, run.id, verdicts), { kind: 'invalid' })
  assert.deepEqual(await fixture.events(run.id), before)
  assert.deepEqual(ran, [])
})

test('a message while an approval is pending is refused with the pending ids', async (context) => {
  const { fixture, run } = await openWaitingFixture(context)
  for (const policy of ['reject', 'queue', 'interrupt', 'steer'] as const)
    await assert.rejects(fixture.send('hello', { policy }), (problem: Problem) => {
      assert.equal(problem.kind, 'pending-approval')
      assert.equal(problem.details.runId, run.id)
      assert.deepEqual(problem.details.callIds, ['a', 'c'])
      assert.match(problem.message, /waiting for approval/)
      return true
    })
})

test('a pending approval survives a crash, is listed, and is not requested twice', async (context) => {
  const { fixture, run } = await openWaitingFixture(context)
  await fixture.restart()
  const [pending] = await listApprovals(fixture.context)
  assert.deepEqual(
    pending?.calls.map(({ callId }) => callId),
    ['a', 'c'],
  )
  const next = await answer(fixture, run.id, [
    { callId: 'a', verdict: 'approve' },
    { callId: 'c', verdict: 'approve' },
  ])
  await fixture.wait(next)
  assert.deepEqual(ran, ['bash a', 'print b', 'bash c'])
  assert.deepEqual(await listApprovals(fixture.context), [])
  assert.equal(fixture.requests.length, 2, 'the model was not called again for the same answer')
})

test('after a crash right after the answer was accepted the next process runs the call once', async (context) => {
  const reached = gate()
  let attempts = 0
  const bash = tool(
    'bash',
    () => {
      attempts++
      reached.open()
      return attempts === 1 ? new Promise(() => {}) : success('ran')
    },
    { needsApproval: true, effects: 'idempotent' },
  )
  const fixture = await openHomeFixture(context, {
    tools: [bash],
    script: scriptOf({ calls: [{ tool: 'bash', input: {}, callId: 'a' }] }, { text: 'done' }),
  })
  const run = await fixture.ask('bash')
  const next = await answer(fixture, run.id, [{ callId: 'a', verdict: 'approve' }])
  await reached.promise
  await fixture.crash()
  await fixture.restart()
  assert.equal((await fixture.wait(next)).stopReason, 'end_turn')
  assert.deepEqual(await statuses(fixture), ['a success'])
  assert.equal(attempts, 2)
})

test('a repeated answer attaches to the run the first one opened', async (context) => {
  const { fixture, run } = await openWaitingFixture(context)
  const verdicts: Verdict[] = [
    { callId: 'a', verdict: 'approve' },
    { callId: 'c', verdict: 'approve' },
  ]
  const [first, second] = await Promise.all([answer(fixture, run.id, verdicts), answer(fixture, run.id, verdicts)])
  assert.equal(first, second)
  await fixture.wait(first)
  assert.equal(await answer(fixture, run.id, verdicts), first)
  assert.deepEqual(ran, ['bash a', 'print b', 'bash c'])
})

test('an answer repeated after its run was cancelled lets the model continue and runs no tool again', async (context) => {
  const started = gate()
  let runs = 0
  const bash = tool(
    'bash',
    async (_, { signal }) => {
      runs++
      started.open()
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      return success('stopped')
    },
    { needsApproval: true },
  )
  const fixture = await openHomeFixture(context, {
    tools: [bash],
    script: scriptOf({ calls: [{ tool: 'bash', input: {}, callId: 'a' }] }, { text: 'done' }),
  })
  const run = await fixture.ask('bash')
  const first = await answer(fixture, run.id, [{ callId: 'a', verdict: 'approve' }])
  await started.promise
  await cancelRun(first, fixture.context)
  await fixture.wait(first)
  const second = await answer(fixture, run.id, [{ callId: 'a', verdict: 'approve' }])
  assert.notEqual(second, first)
  assert.equal((await fixture.wait(second)).stopReason, 'end_turn')
  assert.equal(runs, 1)
  assertValidHistory(await fixture.messages())
})

test('an approval without an answer expires: every call is denied and the conversation is usable', async (context) => {
  const clock = newVirtualClock()
  const { fixture, run } = await openWaitingFixture(context, {
    clock,
    defaults: { approvalTtlMs: 60_000 },
    script: (request) =>
      request.messages.some((body) => body.role === 'tool') ? scriptOf({ text: 'hello again' }) : MIXED,
  })
  await clock.advance(59_000)
  assert.equal((await fixture.get(run.id)).waiting, true)
  await clock.advance(10_000)
  const expired = await fixture.get(run.id)
  assert.equal(expired.status, 'cancelled')
  assert.deepEqual(await statuses(fixture), ['a denied', 'b denied', 'c denied'])
  const [denied] = (await fixture.messages()).flatMap(({ body }) => (body.role === 'tool' ? body.outcomes : []))
  assert.match(denied!.output, /nobody answered the approval request in time/)
  assert.equal((await fixture.ask('hello')).stopReason, 'end_turn')
  assert.deepEqual(ran, [])
})

test('an unattended run never waits: calls that need approval are denied and the turn continues', async (context) => {
  ran.length = 0
  const fixture = await openHomeFixture(context, { tools: [guarded(), free()], script: MIXED })
  const run = await fixture.ask('do three things', { onGuarded: 'deny' })
  assert.equal(run.stopReason, 'end_turn')
  assert.deepEqual(ran, ['print b'])
  assert.deepEqual(await statuses(fixture), ['a denied', 'b success', 'c denied'])
})

test('a result computed by the client is recorded unchanged', async (context) => {
  const { fixture, run } = await openWaitingFixture(context)
  const next = await answer(fixture, run.id, [
    { callId: 'a', verdict: 'result', status: 'success', output: 'from the client' },
    { callId: 'c', verdict: 'result', status: 'error', output: 'it broke' },
  ])
  await fixture.wait(next)
  assert.deepEqual(ran, ['print b'])
  assert.deepEqual(await statuses(fixture), ['a success', 'b success', 'c error'])
})

test('the run that continues after an approval goes before messages that were already queued', async (context) => {
  const mayAnswer = gate()
  const fixture = await openHomeFixture(context, {
    tools: [guarded(), free(), tool('hold', () => mayAnswer.promise.then(() => success('held')))],
    script: (request) => {
      const last = JSON.stringify(request.messages.findLast((body) => body.role === 'user'))
      if (last.includes('later')) return scriptOf({ text: 'later' })
      return scriptOf(
        { calls: [{ tool: 'hold', input: {} }] },
        { calls: [{ tool: 'bash', input: {}, callId: 'a' }] },
        { text: 'done' },
      )
    },
  })
  const first = await fixture.send('first')
  const later = await fixture.send('later')
  mayAnswer.open()
  assert.equal((await fixture.wait(first)).stopReason, 'requires_approval')
  assert.equal((await fixture.get(later)).status, 'created', 'it waits behind the approval')
  const next = await answer(fixture, first, [{ callId: 'a', verdict: 'approve' }])
  await fixture.wait(later)
  const [continued, queued] = [await fixture.get(next), await fixture.get(later)]
  assert.ok(continued.completedAt! <= queued.startedAt!)
  assertValidHistory(await fixture.messages())
})
