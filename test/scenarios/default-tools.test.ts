import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../src/app.ts'
import { realClock } from '../../src/config/real-clock.ts'
import { realRandomness } from '../../src/config/real-randomness.ts'
import { BASE_TOOLS, DEMO_TOOLS } from '../../src/core/base-tools.ts'
import { blocksOf } from '../../src/service/agents/agent-blocks.ts'
import { createAgent } from '../../src/service/agents/create-agent.ts'
import { demoTools } from '../../src/tools/demo/all.ts'
import { newHome } from '../cli/holdfast.ts'

test('an agent on a real model starts with memory and its tools; only one on the scripted model has the demo tools', async (t) => {
  const app = await openApp({ environment: { HOLDFAST_HOME: newHome(t), OPENAI_API_KEY: 'sk-test' }, role: 'owner' })
  t.after(() => app.close())
  const real = await createAgent({ name: 'real', model: 'openai/gpt-4.1' }, app.context)
  assert.deepEqual([...real.tools].sort(), ['current_time', ...BASE_TOOLS].sort())
  const labels = (await blocksOf(real, app.context)).map(({ label }) => label)
  assert.deepEqual(labels.sort(), ['human', 'persona'])

  const scripted = await createAgent({ name: 'scripted' }, app.context)
  assert.equal(scripted.model, 'scripted/friendly')
  assert.deepEqual([...scripted.tools].sort(), ['current_time', ...DEMO_TOOLS].sort())
  assert.deepEqual(await blocksOf(scripted, app.context), [])
})

test('an agent that is asked to have no tools or no blocks has none', async (t) => {
  const app = await openApp({ environment: { HOLDFAST_HOME: newHome(t) }, role: 'owner' })
  t.after(() => app.close())
  const bare = await createAgent({ name: 'bare', model: 'openai/gpt-4.1', tools: [] }, app.context)
  assert.deepEqual([bare.tools, await blocksOf(bare, app.context)], [[], []])
  const blank = await createAgent({ name: 'blank', model: 'openai/gpt-4.1', blocks: [] }, app.context)
  assert.deepEqual([blank.tools, await blocksOf(blank, app.context)], [['current_time'], []])
})

test('the list of demo tools names all of them', () => {
  const tools = demoTools({ clock: realClock, randomness: realRandomness, home: '/nowhere' })
  assert.deepEqual(tools.map(({ name }) => name).sort(), [...DEMO_TOOLS].sort())
})
