import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Verdict } from '../../src/core/approval.ts'
import type { Caller, KeyId } from '../../src/core/people.ts'
import type { Problem } from '../../src/core/problem.ts'
import type { ModelRequest } from '../../src/ports/model.ts'
import { type Script, scriptOf } from '../../src/providers/scripted/script.ts'
import { answerApproval } from '../../src/service/approvals/answer-approval.ts'
import { findAskingRun, listApprovals } from '../../src/service/approvals/approvals.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import type { ServiceContext } from '../../src/service/service-context.ts'
import { success } from '../../src/tools/define-tool.ts'
import { assertValidHistory, type HomeFixture, openHomeFixture } from '../harness/fixture-home.ts'
import { tool } from '../harness/tools.ts'
import { newVirtualClock } from '../harness/virtual-clock.ts'

// An approval is bound to a run, a call and its arguments, also where the model repeats ids, and it is given once.

const SAME = 'call_SAME'

/** A model that gives every call the same id: first it asks for something harmless, then for something else. */
function openAsking(context: Parameters<typeof openHomeFixture>[0], more: Parameters<typeof openHomeFixture>[1] = {}) {
  const ran: string[] = []
  const bash = tool(
    'bash',
    (input) => {
      ran.push((input as { run: string }).run)
      return success('ran')
    },
    { needsApproval: true },
  )
  let asked = 0
  const script = (request: ModelRequest): Script => {
    if (request.messages.at(-1)?.role === 'user') asked++
    return scriptOf({ calls: [{ tool: 'bash', input: { run: `command ${asked}` }, callId: SAME }] }, { text: 'done' })
  }
  return openHomeFixture(context, { tools: [bash], script, ...more }).then((fixture) => ({ fixture, ran }))
}

const as = (fixture: HomeFixture, actor: KeyId, more: Partial<Caller> = {}): ServiceContext => ({
  ...fixture.context,
  caller: { ...fixture.context.caller, actor, scope: 'agent approve', ...more },
})

const approve = (callId: string): Verdict[] => [{ callId, verdict: 'approve' }]
const deny = (callId: string): Verdict[] => [{ callId, verdict: 'deny' }]

const waitingCall = async (fixture: HomeFixture) => (await listApprovals(fixture.context))[0]!.calls[0]!.callId

const ENDINGS: Record<string, (fixture: HomeFixture, runId: string) => Promise<unknown>> = {
  cancelled: (fixture, runId) => cancelRun(runId, fixture.context),
  denied: async (fixture, runId) =>
    fixture.wait(await answerApproval({ runId, verdicts: deny(SAME) }, fixture.context)),
  approved: async (fixture, runId) =>
    fixture.wait(await answerApproval({ runId, verdicts: approve(SAME) }, fixture.context)),
}

for (const [ending, end] of Object.entries(ENDINGS))
  for (const streamTokens of [true, false])
    test(`a call id that was ${ending} never matches again, streamed ${streamTokens ? 'by token' : 'by step'}`, async (context) => {
      const { fixture, ran } = await openAsking(context)
      const first = await fixture.ask('one', { streamTokens })
      await end(fixture, first.id)
      const before = [...ran]
      if (ending === 'denied') await fixture.restart()
      const second = await fixture.ask('two', { streamTokens })
      assert.equal(second.stopReason, 'requires_approval')
      const renamed = await waitingCall(fixture)
      assert.notEqual(renamed, SAME)
      await assert.rejects(answerApproval({ runId: second.id, verdicts: approve(SAME) }, fixture.context), {
        kind: 'invalid',
      })
      assert.equal(await findAskingRun(fixture.conversationId, [SAME], fixture.context), first.id)
      assert.equal(await findAskingRun(fixture.conversationId, [renamed], fixture.context), second.id)
      assert.deepEqual(ran, before, 'nothing ran')
      const next = await answerApproval({ runId: second.id, verdicts: approve(renamed) }, fixture.context)
      await fixture.wait(next)
      assert.deepEqual(ran, [...before, 'command 2'])
      assertValidHistory(await fixture.messages())
    })

test('a call id that expired never matches again', async (context) => {
  const clock = newVirtualClock()
  const { fixture, ran } = await openAsking(context, { clock, defaults: { approvalTtlMs: 60_000 } })
  const first = await fixture.ask('one')
  await clock.advance(90_000)
  await assert.rejects(answerApproval({ runId: first.id, verdicts: approve(SAME) }, fixture.context), {
    kind: 'conflict',
    message: /expired/,
  })
  await fixture.ask('two')
  assert.notEqual(await waitingCall(fixture), SAME)
  assert.deepEqual(ran, [])
})

test('a verdict that comes too late is refused with what was decided, and by whom', async (context) => {
  const { fixture, ran } = await openAsking(context)
  const first = await fixture.ask('one')
  const ada = as(fixture, 'key-ada', { userId: 'user-ada' })
  const next = await answerApproval({ runId: first.id, verdicts: approve(SAME) }, ada)
  await fixture.wait(next)
  const late = (verdicts: Verdict[]) =>
    answerApproval({ runId: first.id, verdicts }, as(fixture, 'key-bo')).then(
      () => assert.fail('a late verdict was accepted'),
      (problem: Problem) => problem,
    )
  const denied = await late(deny(SAME))
  assert.equal(denied.kind, 'conflict')
  assert.match(denied.message, /too late.*call_SAME approved/)
  assert.match(denied.message, /key-ada \(user-ada\)/)
  assert.match(denied.message, new RegExp(next))
  for (const verdicts of [[], approve('other'), [{ callId: SAME, verdict: 'approve', digest: 'other' } as const]])
    assert.equal((await late(verdicts)).kind, 'conflict')
  assert.equal(await answerApproval({ runId: first.id, verdicts: approve(SAME) }, ada), next, 'a repeat attaches')
  assert.deepEqual(ran, ['command 1'])
})

test('of verdicts that race, those that did not decide are refused', async (context) => {
  const { fixture, ran } = await openAsking(context)
  const run = await fixture.ask('one')
  const racing = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? approve(SAME) : deny(SAME)))
  const answers = await Promise.allSettled(
    racing.map((verdicts, index) => answerApproval({ runId: run.id, verdicts }, as(fixture, `key-${index}`))),
  )
  const won = answers.flatMap((answer, index) => (answer.status === 'fulfilled' ? racing[index]![0]!.verdict : []))
  assert.equal(new Set(won).size, 1, 'one verdict counts')
  assert.equal(won.length, 6, 'those that agree are told so')
  for (const answer of answers)
    if (answer.status === 'rejected') assert.equal((answer.reason as Problem).kind, 'conflict')
  const next = answers.find((answer) => answer.status === 'fulfilled')!
  await fixture.wait((next as { value: `run-${string}` }).value)
  assert.deepEqual(ran, won[0] === 'approve' ? ['command 1'] : [])
})

test('a cancel names who cancelled to those who decide later', async (context) => {
  const { fixture } = await openAsking(context)
  const run = await fixture.ask('one')
  await cancelRun(run.id, as(fixture, 'key-ada'))
  await assert.rejects(answerApproval({ runId: run.id, verdicts: approve(SAME) }, fixture.context), {
    kind: 'conflict',
    message: /cancelled by key-ada.*did not run/,
  })
})

test('deciding needs the right to approve; results of client tools do not', async (context) => {
  const { fixture } = await openAsking(context)
  const run = await fixture.ask('one')
  const worker = as(fixture, 'key-worker', { scope: 'agent' })
  for (const verdicts of [approve(SAME), deny(SAME)])
    await assert.rejects(answerApproval({ runId: run.id, verdicts }, worker), { kind: 'forbidden' })
  await cancelRun(run.id, worker)
  const clientTools = [{ name: 'bash', description: '', inputSchema: { type: 'object' } }]
  for (const verdict of ['deny', 'result'] as const) {
    const asked = await fixture.ask('two', { clientTools })
    const callId = await waitingCall(fixture)
    const verdicts: Verdict[] =
      verdict === 'deny' ? deny(callId) : [{ callId, verdict, status: 'success', output: 'ok' }]
    await fixture.wait(await answerApproval({ runId: asked.id, verdicts }, worker))
  }
})

test('with approval_by another-key, who asked may deny and not approve, with another key of the same user neither', async (context) => {
  const { fixture, ran } = await openAsking(context, { defaults: { approvalBy: 'another-key' } })
  const ada = as(fixture, 'key-ada', { userId: 'user-ada' })
  const adasOther = as(fixture, 'key-other', { userId: 'user-ada' })
  const bo = as(fixture, 'key-bo')
  const ask = async (who: ServiceContext) => {
    const { sendMessage } = await import('../../src/service/messages/send-message.ts')
    const { agent, conversationId } = fixture
    const sent = await sendMessage({ agent, conversationId, content: [{ type: 'text', text: 'go' }] }, who)
    return fixture.wait(sent.runId)
  }
  const run = await ask(ada)
  for (const who of [ada, adasOther])
    await assert.rejects(answerApproval({ runId: run.id, verdicts: approve(SAME) }, who), {
      kind: 'forbidden',
      message: /another key/,
    })
  await fixture.restart()
  const boAfter = { ...fixture.context, caller: bo.caller }
  await fixture.wait(await answerApproval({ runId: run.id, verdicts: approve(SAME) }, boAfter))
  assert.deepEqual(ran, ['command 1'])
  const again = await ask({ ...fixture.context, caller: ada.caller })
  const callId = await waitingCall(fixture)
  await fixture.wait(
    await answerApproval({ runId: again.id, verdicts: deny(callId) }, { ...fixture.context, caller: ada.caller }),
  )
  assert.deepEqual(ran, ['command 1'])
})

test('with approval_by another-key, whoever joined a turn asked for it too, and still does after an approval', async (context) => {
  const bash = tool('bash', () => success('ran'), { needsApproval: true })
  const ask = (callId: string) => ({ calls: [{ tool: 'bash', input: { callId }, callId }] })
  const fixture = await openHomeFixture(context, {
    tools: [bash],
    defaults: { approvalBy: 'another-key' },
    script: scriptOf(ask('call-1'), ask('call-2'), { text: 'done' }),
  })
  const run = await fixture.ask('one')
  const bo = as(fixture, 'key-bo')
  const followUps = [{ messageId: 'message-1', role: 'user', content: [{ type: 'text', text: 'and this' }] } as const]
  const next = await answerApproval(
    {
      runId: run.id,
      verdicts: approve('call-1'),
      followUps: followUps.map((one) => ({ ...one, content: [...one.content] })),
    },
    bo,
  )
  await fixture.wait(next)
  const callId = await waitingCall(fixture)
  for (const who of [bo, fixture.context])
    await assert.rejects(answerApproval({ runId: next, verdicts: approve(callId) }, who), { kind: 'forbidden' })
  await fixture.wait(await answerApproval({ runId: next, verdicts: approve(callId) }, as(fixture, 'key-third')))
})
