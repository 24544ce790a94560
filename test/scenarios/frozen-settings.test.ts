import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scriptOf } from '../../src/providers/scripted/script.ts'
import { updateAgent } from '../../src/service/agents/agents.ts'
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
