import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { updateAgent } from '../../src/service/agents/agents.ts'
import { answerApproval } from '../../src/service/approvals/answer-approval.ts'
import { success } from '../../src/tools/define-tool.ts'
import { openHomeFixture } from '../harness/fixture-home.ts'
import { gate, tool } from '../harness/tools.ts'

test('a run that continues after a kill has the settings it was accepted with, whatever changed meanwhile', async (context) => {
  const started = gate()
  const finish = gate()
  const look = tool('look', async () => {
    started.open()
    await finish.promise
    return success('a tree')
  })
  const script = scriptOf({ calls: [{ tool: 'look', input: {} }] }, { text: 'A tree.' })
  const fixture = await openHomeFixture(context, { script, tools: [{ ...look, effects: 'none' }] })
  const withSettings = (model_settings: object) =>
    updateAgent(
      { agent: fixture.agent, settings: (settings) => ({ ...settings, wire: { model_settings } as never }) },
      fixture.context,
    )
  const agent = await withSettings({
    temperature: 0.25,
    reasoning: { reasoning_effort: 'low' },
    response_format: { type: 'json_object' },
    strict: true,
  })
  const runId = await fixture.send('Look.', { agent, reasoning: 'off' })
  await started.promise
  await fixture.crash()
  finish.open()
  await fixture.restart()
  await withSettings({ temperature: 0.75 })
  assert.equal((await fixture.wait(runId)).stopReason, 'end_turn')
  assert.ok(fixture.requests.length >= 2)
  for (const { settings } of fixture.requests)
    assert.deepEqual(settings, {
      temperature: 0.25,
      effort: 'none',
      responseFormat: { type: 'json' },
      strictTools: true,
    })
})

test('a run that continues after an approval has the settings it waited with, except those of the answer', async (context) => {
  const guarded = tool('guarded', undefined, { needsApproval: true })
  const call = { calls: [{ tool: 'guarded', input: {} }] }
  const fixture = await openHomeFixture(context, { script: scriptOf(call, { text: 'Done.' }), tools: [guarded] })
  const withSettings = (model_settings: object) =>
    updateAgent(
      { agent: fixture.agent, settings: (settings) => ({ ...settings, wire: { model_settings } as never }) },
      fixture.context,
    )
  const agent = await withSettings({ temperature: 0.25, verbosity: 'low' })
  for (const [reasoning, effort] of [
    [undefined, 'high'],
    ['off', 'none'],
  ] as const) {
    const waiting = await fixture.ask('Do it.', { agent, reasoning: 'high' })
    await withSettings({ temperature: 0.75 })
    const events = await fixture.events(waiting.id)
    const asked = events.flatMap((event) => (event.type === 'answer-received' ? event.calls : []))
    const verdicts = asked.map(({ callId }) => ({ callId, verdict: 'approve' as const }))
    const options = reasoning ? { reasoning } : {}
    await fixture.wait(await answerApproval({ runId: waiting.id, verdicts, options }, fixture.context))
    assert.deepEqual(fixture.requests.at(-1)!.settings, { temperature: 0.25, verbosity: 'low', effort })
  }
})
