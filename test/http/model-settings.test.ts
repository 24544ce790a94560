import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { newProviderSet } from '../../src/providers/provider-set.ts'
import { simulatorFixture } from '../simulator/fixture-simulator.ts'
import { type Body, serveDialects } from './fixture-dialects.ts'
import { serveFixture, statusOf } from './fixture-resource-server.ts'

const SETTINGS = { temperature: 0.25, max_output_tokens: 321, parallel_tool_calls: false, top_p: 0.5 }

/** What each dialect sends for `SETTINGS`, and what its model does not take. */
const TABLE: { model: string; sent: Body; leftOut: RegExp[] }[] = [
  {
    model: 'chat/model',
    sent: { temperature: 0.25, top_p: 0.5, max_tokens: 321, parallel_tool_calls: false },
    leftOut: [],
  },
  {
    model: 'responses/gpt-4o',
    sent: { temperature: 0.25, top_p: 0.5, max_output_tokens: 321, parallel_tool_calls: false },
    leftOut: [],
  },
  {
    model: 'responses/gpt-5',
    sent: { max_output_tokens: 321, parallel_tool_calls: false, temperature: undefined, top_p: undefined },
    leftOut: [/^temperature: gpt-5 takes only 1/, /^top_p: gpt-5/],
  },
  {
    model: 'claude/claude-haiku-4-5',
    sent: {
      temperature: 0.25,
      top_p: undefined,
      max_tokens: 321,
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
    leftOut: [/^top_p: .*together with a temperature/],
  },
  {
    model: 'vertex/gemini-2.5-flash',
    sent: { generationConfig: { temperature: 0.25, topP: 0.5, maxOutputTokens: 321 } },
    leftOut: [/^parallel_tool_calls: Gemini/],
  },
]

const pick = (body: Body, keys: string[]): Body => Object.fromEntries(keys.map((key) => [key, body[key]]))

for (const { model, sent, leftOut } of TABLE) {
  test(`the settings of an agent reach ${model}, and the run names what it does not take`, async (context) => {
    const { client, received, send, leftOut: noted, fixture } = await serveDialects(context)
    const agent = await client.agents.create({ model, model_settings: { provider_type: 'openai', ...SETTINGS } })
    const before = await noted(await send(agent.id))
    assert.deepEqual(pick(received(), Object.keys(sent)), sent)
    assert.equal(before.length, leftOut.length, before.join('\n'))
    for (const [index, pattern] of leftOut.entries()) assert.match(before[index]!, pattern)
    assert.deepEqual(fixture.faults, [])
  })

  test(`settings changed by an update, and a model for one request, reach ${model}`, async (context) => {
    const { client, received, send } = await serveDialects(context)
    const agent = await client.agents.create({ model: 'chat/model' })
    await send(agent.id)
    const plain = pick(received(), [
      'temperature',
      'top_p',
      'max_tokens',
      'max_completion_tokens',
      'parallel_tool_calls',
    ])
    assert.deepEqual(Object.values(plain), [undefined, undefined, undefined, undefined, undefined])
    await client.agents.update(agent.id, { model_settings: { provider_type: 'openai', ...SETTINGS } })
    await send(agent.id, { override_model: model })
    assert.deepEqual(pick(received(), Object.keys(sent)), sent)
  })
}

const EFFORT = { reasoning: { reasoning_effort: 'high' as const } }
const BUDGET = { thinking: { type: 'enabled' as const, budget_tokens: 2000 } }
const OFF = { thinking: { type: 'disabled' as const } }

/** What each dialect sends for an effort or a budget of reasoning, and what its model does not take. */
const REASONING: { model: string; settings: Body; sent: Body; leftOut: RegExp[] }[] = [
  { model: 'chat/gpt-5', settings: EFFORT, sent: { reasoning_effort: 'high' }, leftOut: [] },
  {
    model: 'chat/gpt-4o',
    settings: EFFORT,
    sent: { reasoning_effort: undefined },
    leftOut: [/^reasoning effort: gpt-4o/],
  },
  { model: 'chat/gpt-5', settings: BUDGET, sent: { reasoning_effort: undefined }, leftOut: [/^thinking budget/] },
  { model: 'responses/gpt-5', settings: EFFORT, sent: { reasoning: { effort: 'high' } }, leftOut: [] },
  { model: 'responses/gpt-5', settings: OFF, sent: { reasoning: { effort: 'none' } }, leftOut: [] },
  {
    model: 'claude/claude-opus-4-6',
    settings: EFFORT,
    sent: { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } },
    leftOut: [],
  },
  { model: 'claude/claude-opus-4-6', settings: OFF, sent: { thinking: { type: 'disabled' } }, leftOut: [] },
  {
    model: 'claude/claude-haiku-4-5',
    settings: { ...BUDGET, temperature: 0.5 },
    sent: { thinking: { type: 'enabled', budget_tokens: 2000 }, temperature: undefined },
    leftOut: [/^temperature: .*thinking/],
  },
  {
    model: 'claude/claude-haiku-4-5',
    settings: { ...BUDGET, max_output_tokens: 1500 },
    sent: { thinking: undefined, max_tokens: 1500 },
    leftOut: [/^reasoning: a thinking budget is at least 1024 and below max_tokens, 1500/],
  },
  {
    model: 'claude/claude-3-5-haiku-latest',
    settings: EFFORT,
    sent: { thinking: undefined },
    leftOut: [/^reasoning: /],
  },
  {
    model: 'vertex/gemini-2.5-flash',
    settings: { thinking_config: { thinking_budget: 2000 } },
    sent: { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 2000 } } },
    leftOut: [],
  },
  {
    model: 'vertex/gemini-3-flash',
    settings: EFFORT,
    sent: { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel: 'HIGH' } } },
    leftOut: [],
  },
  { model: 'vertex/gemini-2.0-flash', settings: EFFORT, sent: { generationConfig: {} }, leftOut: [/^reasoning: /] },
]

test('effort and budget of reasoning reach the model in the terms of its dialect, or the run names them', async (context) => {
  const { client, received, send, leftOut: noted, fixture } = await serveDialects(context)
  for (const { model, settings, sent, leftOut } of REASONING) {
    const agent = await client.agents.create({ model, model_settings: settings })
    const notes = await noted(await send(agent.id))
    const title = `${model} ${JSON.stringify(settings)}: ${notes.join(', ')}`
    assert.deepEqual(pick(received(), Object.keys(sent)), sent, title)
    assert.equal(notes.length, leftOut.length, title)
    for (const [index, pattern] of leftOut.entries()) assert.match(notes[index]!, pattern)
  }
  assert.deepEqual(fixture.faults, [])
})

test('effort and budget reach a model behind an aggregator in its one parameter for all models', async (context) => {
  const { client, received, send, leftOut: noted } = await serveDialects(context)
  const CASES: [model: string, settings: Body, sent: Body | undefined, leftOut: RegExp[]][] = [
    ['anthropic/claude-sonnet-4.5', EFFORT, { effort: 'high' }, []],
    ['anthropic/claude-sonnet-4.5', BUDGET, { max_tokens: 2000 }, []],
    ['anthropic/claude-sonnet-4.5', { ...EFFORT, ...BUDGET }, { max_tokens: 2000 }, [/^reasoning effort: /]],
    ['anthropic/claude-sonnet-4.5', OFF, { effort: 'none' }, []],
    ['x-ai/grok-4', { effort: 'max' }, { effort: 'xhigh' }, [/up to xhigh/]],
    ['openai/gpt-4o', EFFORT, undefined, [/does not reason/]],
    ['openai/gpt-4o', OFF, undefined, []],
    ['openai/gpt-5', {}, undefined, []],
  ]
  for (const [model, model_settings, sent, leftOut] of CASES) {
    const agent = await client.agents.create({ model: `openrouter/${model}`, model_settings } as never)
    const notes = await noted(await send(agent.id))
    const title = `${model} ${JSON.stringify(model_settings)}: ${notes.join(', ')}`
    assert.deepEqual(
      pick(received(), ['reasoning', 'reasoning_effort']),
      { reasoning: sent, reasoning_effort: undefined },
      title,
    )
    assert.equal(notes.length, leftOut.length, title)
    for (const [index, pattern] of leftOut.entries()) assert.match(notes[index]!, pattern)
  }
})

test('the effort of older clients has the same effect, and a conversation replaces it', async (context) => {
  const { client, received, send } = await serveDialects(context)
  const agent = await client.agents.create({ model: 'chat/gpt-5', enable_reasoner: false })
  await send(agent.id)
  assert.equal(received().reasoning_effort, 'none')
  const config = { model: 'gpt-5', model_endpoint_type: 'openai', context_window: 8000 } as const
  const changed = await client.agents.update(agent.id, {
    model: 'chat/gpt-5',
    llm_config: { ...config, reasoning_effort: 'low' },
  })
  assert.equal(changed.llm_config.reasoning_effort, 'low')
  await send(agent.id)
  assert.equal(received().reasoning_effort, 'low')
  const conversation = await client.conversations.create({
    agent_id: agent.id,
    model_settings: { provider_type: 'openai', reasoning: { reasoning_effort: 'minimal' } },
  })
  await client.conversations.messages.create(conversation.id, { input: 'Hello', streaming: false })
  assert.equal(received().reasoning_effort, 'minimal')
})

test('the fields of older clients have the same effect, and the last one sent wins', async (context) => {
  const { client, received, send } = await serveDialects(context)
  const seen = () => pick(received(), ['temperature', 'max_tokens', 'parallel_tool_calls'])
  const agent = await client.agents.create({
    llm_config: {
      handle: 'chat/model',
      model: 'model',
      model_endpoint_type: 'openai',
      context_window: 8000,
      temperature: 0.75,
      max_tokens: 55,
    },
    parallel_tool_calls: false,
  })
  await send(agent.id)
  assert.deepEqual(seen(), { temperature: 0.75, max_tokens: 55, parallel_tool_calls: false })
  const changed = await client.agents.update(agent.id, { max_tokens: 66, parallel_tool_calls: true })
  assert.deepEqual(
    [changed.llm_config.max_tokens, changed.llm_config.temperature, changed.llm_config.parallel_tool_calls],
    [66, 0.75, true],
  )
  await send(agent.id)
  assert.deepEqual(seen(), { temperature: 0.75, max_tokens: 66, parallel_tool_calls: undefined })
  await client.agents.update(agent.id, { model_settings: { provider_type: 'openai', max_output_tokens: 77 } })
  await send(agent.id)
  assert.deepEqual(seen(), { temperature: undefined, max_tokens: 77, parallel_tool_calls: undefined })
})

test('the settings of a conversation win over those of its agent, field by field', async (context) => {
  const { client, received } = await serveDialects(context)
  const agent = await client.agents.create({
    model: 'chat/model',
    model_settings: { provider_type: 'openai', temperature: 0.25, max_output_tokens: 321 },
  })
  const conversation = await client.conversations.create({
    agent_id: agent.id,
    model_settings: { provider_type: 'openai', temperature: 1.5 },
  })
  await client.conversations.messages.create(conversation.id, { input: 'Hello', streaming: false })
  assert.deepEqual(pick(received(), ['temperature', 'max_tokens']), { temperature: 1.5, max_tokens: 321 })
})

test('settings out of range, of the wrong type or for another vendor are refused with the name of the field', async (context) => {
  const { client, fetch, send, received } = await serveDialects(context)
  const agent = await client.agents.create({
    model: 'anthropic/claude-haiku-4-5',
    model_settings: { provider_type: 'anthropic', temperature: 0.5 },
  })
  const conversation = await client.conversations.create({ agent_id: agent.id })
  const BAD: [body: Body, field: string][] = [
    [{ model_settings: { temperature: 2.1 } }, 'model_settings.temperature'],
    [{ model_settings: { temperature: -0.1 } }, 'model_settings.temperature'],
    [{ model_settings: { temperature: '0.5' } }, 'model_settings.temperature'],
    [{ model_settings: { top_p: 1.1 } }, 'model_settings.top_p'],
    [{ model_settings: { max_output_tokens: 0 } }, 'model_settings.max_output_tokens'],
    [{ model_settings: { max_output_tokens: 1.5 } }, 'model_settings.max_output_tokens'],
    [{ model_settings: { parallel_tool_calls: 'no' } }, 'model_settings.parallel_tool_calls'],
    [{ model_settings: { effort: 'extreme' } }, 'model_settings.effort'],
    [{ model_settings: { thinking: { budget_tokens: -1 } } }, 'model_settings.thinking.budget_tokens'],
    [{ model_settings: { reasoning: { reasoning_effort: 'low' } } }, 'model_settings.reasoning'],
    [{ model_settings: { provider_type: 'openai' } }, 'model_settings.provider_type'],
  ]
  const OLDER: [body: Body, field: string][] = [
    [{ llm_config: { temperature: 9 } }, 'llm_config.temperature'],
    [{ llm_config: { max_tokens: 0 } }, 'llm_config.max_tokens'],
    [{ max_tokens: 0 }, 'max_tokens'],
  ]
  const refuse = async (path: string, [body, field]: [Body, string]) => {
    const answer = await fetch('PATCH', path, body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.match(JSON.stringify(answer.body), new RegExp(field.replaceAll('.', '.*')))
  }
  for (const bad of [...BAD, ...OLDER]) await refuse(`/v1/agents/${agent.id}`, bad)
  for (const bad of BAD) await refuse(`/v1/conversations/${conversation.id}`, bad)
  const foreign = client.agents.create({ model: 'anthropic/claude', model_settings: { provider_type: 'openai' } })
  assert.equal(await statusOf(foreign), 422)
  await send(agent.id)
  assert.equal(received().temperature, 0.5, 'a refused request changes nothing')
})

test('after a change of the vendor the settings reach the new model in its own terms, and may be sent back as they were read', async (context) => {
  const { client, received, send } = await serveDialects(context)
  const agent = await client.agents.create({
    model: 'anthropic/claude-opus-4-6',
    model_settings: { provider_type: 'anthropic', effort: 'low' },
  })
  await send(agent.id)
  assert.deepEqual(received().output_config, { effort: 'low' })
  const moved = await client.agents.update(agent.id, { model: 'openrouter/openai/gpt-5' })
  const again = await client.agents.update(agent.id, { model_settings: moved.model_settings! })
  await send(agent.id)
  assert.deepEqual(received().reasoning, { effort: 'low' })
  const back = await client.agents.update(agent.id, { model: 'anthropic/claude-opus-4-6' })
  assert.equal((back.model_settings as Body).effort, (again.model_settings as Body).effort)
  const openai = { provider_type: 'openai', reasoning: { reasoning_effort: 'high' } } as const
  await client.agents.update(agent.id, { model: 'openai/gpt-5', model_settings: openai })
  const { model_settings } = await client.agents.update(agent.id, { model: 'anthropic/claude-opus-4-6' })
  const kept = await client.agents.update(agent.id, { model_settings: model_settings! })
  assert.deepEqual((kept.model_settings as Body).reasoning, openai.reasoning)
  await send(agent.id)
  assert.deepEqual(received().output_config, { effort: 'high' })
  await client.agents.update(agent.id, { model: 'gemini/gemini-3-pro-preview' })
  const google = { provider_type: 'google_ai', reasoning: { reasoning_effort: 'low' } }
  await client.agents.update(agent.id, { model_settings: google as never })
  await send(agent.id)
  assert.deepEqual((received().generationConfig as Body).thinkingConfig, {
    includeThoughts: true,
    thinkingLevel: 'LOW',
  })
  await client.agents.update(agent.id, { model: 'anthropic/claude-opus-4-6' })
  const changed = { provider_type: 'anthropic', reasoning: { reasoning_effort: 'max' } }
  assert.equal(await statusOf(client.agents.update(agent.id, { model_settings: changed as never })), 422)
})

test('an export and its import keep the settings; values without effect are kept and named', async (context) => {
  const { client, received, send, fetch } = await serveDialects(context)
  const agent = await client.agents.create({
    model: 'chat/model',
    model_settings: { provider_type: 'openai', temperature: 0.25, max_output_tokens: 321 },
  })
  const bare = await client.agents.create({ model: 'chat/model' })
  const importOf = async (file: unknown) => {
    const { agent_ids } = await client.agents.importFile({
      file: new File([JSON.stringify(file)], 'agent.af', { type: 'application/json' }),
    })
    return agent_ids[0]!
  }
  const exported = (await fetch('GET', `/v1/agents/${agent.id}/export`)).body as { agents: { model_settings: Body }[] }
  await send(await importOf(exported))
  assert.deepEqual(pick(received(), ['temperature', 'max_tokens']), { temperature: 0.25, max_tokens: 321 })

  await send(await importOf((await fetch('GET', `/v1/agents/${bare.id}/export`)).body))
  assert.deepEqual(pick(received(), ['temperature', 'max_tokens']), { temperature: undefined, max_tokens: undefined })

  exported.agents[0]!.model_settings = { temperature: 99, max_output_tokens: 5, seed: 7, effort: 'extreme' }
  const half = await importOf(exported)
  await send(half)
  assert.deepEqual(pick(received(), ['temperature', 'max_tokens']), { temperature: undefined, max_tokens: 5 })
  const state = await client.agents.retrieve(half)
  assert.deepEqual((state.metadata as Body).not_imported, [
    'model_settings.temperature',
    'model_settings.seed',
    'model_settings.effort',
  ])
  assert.equal((state.model_settings as Body).temperature, 99)
})

test('a text that reaches the output limit of the application ends there and is not continued', async (context) => {
  const simulator = await simulatorFixture(context)
  simulator.script({ answer: { text: 'Once upon a', finish: 'length' } })
  const { providers } = newProviderSet(
    { chat: { base_url: `${simulator.url}/v1` } },
    { environment: {}, clock: realClock },
  )
  context.after(() => providers.chat!.renewConnections?.())
  const { client } = await serveFixture(context, { providers: () => providers, model: 'chat/model' })
  const agent = await client.agents.create({
    model: 'chat/model',
    model_settings: { provider_type: 'openai', max_output_tokens: 3 },
  })
  const { stop_reason } = await client.agents.messages.create(agent.id, { input: 'Tell me a story' })
  assert.equal(simulator.requests.length, 1)
  assert.equal(stop_reason.stop_reason, 'max_tokens_exceeded')
})
