import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerApproval } from '../../src/service/approvals/answer-approval.ts'
import { cancelRun } from '../../src/service/runs/runs.ts'
import { waitForRun } from '../../src/service/runs/watch-run.ts'
import type { Reply } from '../../src/simulator/script.ts'
import { tool } from '../harness/tools.ts'
import { assertAnswered, exchange, openRecoveryFixture, type RecoveryFixture } from './fixture-recovery.ts'

// A caller that waits hears soon; a background run waits as long as it may; a cancel ends every wait at once.

const HELLO: Reply = { text: 'Hello.' }

async function patienceOf({ fixture }: RecoveryFixture, runId: Parameters<typeof fixture.events>[0]) {
  const [accepted] = await fixture.events(runId)
  return accepted?.type === 'input-accepted' ? accepted.settings.patienceMs : undefined
}

test('a rate limit whose end is stated is waited out in the background, and reported to a caller that waits', async (context) => {
  const limited = { error: 'rate-limit-with-retry-after' as const, retryAfterSeconds: 171 }
  const setup = await openRecoveryFixture(context, {
    script: [{ times: 2, answer: limited }, { answer: HELLO }],
    longestJumpMs: 200_000,
  })
  const foreground = await exchange(setup, 'one')
  assert.deepEqual(foreground.story, ['rate-limited → give-up'])
  assert.equal(foreground.run.status, 'failed')
  setup.fixture.clock.skip(171_000)
  const background = await exchange(setup, 'two', { background: true })
  assertAnswered(background, 'Hello.', ['rate-limited → wait'])
  assert.equal(background.failures[0]?.waitMs, 171_000)
})

test('a cancel ends the wait of a background run at once', async (context) => {
  const setup = await openRecoveryFixture(context, {
    script: [{ answer: { error: 'rate-limit-with-retry-after', retryAfterSeconds: 400 } }],
    // Waits take real time here: the run waits 400 s.
    longestJumpMs: 1,
  })
  const { fixture } = setup
  const runId = await fixture.send('one', { background: true })
  while ((await fixture.failures(runId)).length === 0) await new Promise((resolve) => setImmediate(resolve))
  const [failure] = await fixture.failures(runId)
  assert.deepEqual([failure?.remedy, failure?.waitMs], ['wait', 400_000])
  await cancelRun(runId, fixture.context)
  const run = await waitForRun(runId, fixture.context)
  assert.equal(run.status, 'cancelled')
})

test('a turn that a caller continues by an approval has the patience of that caller', async (context) => {
  const setup = await openRecoveryFixture(context, {
    tools: [tool('guarded', undefined, { needsApproval: true })],
    script: [{ times: 1, answer: { calls: [{ id: 'c1', name: 'guarded' }] } }, { answer: HELLO }],
  })
  const { fixture } = setup
  const { run } = await exchange(setup, 'one', { background: true })
  assert.equal(run.stopReason, 'requires_approval')
  assert.equal(await patienceOf(setup, run.id), 600_000)
  const asked = (await fixture.events(run.id)).flatMap((event) => (event.type === 'answer-received' ? event.calls : []))
  const verdicts = asked.map(({ callId }) => ({ callId, verdict: 'approve' as const }))
  const continuing = await answerApproval({ runId: run.id, verdicts, options: { background: false } }, fixture.context)
  await waitForRun(continuing, fixture.context)
  assert.equal(await patienceOf(setup, continuing), undefined)
})
