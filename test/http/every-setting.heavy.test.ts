import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import { caseCount } from '../harness/case-count.ts'
import { type Body, serveDialects } from './fixture-dialects.ts'

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const FORMAT = { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA } }

/** What the provider receives, by the path of the field in the body, and the notes about what it does not. */
type Sent = { body: Body; leftOut?: RegExp[] }

const MODELS = [
  'chat/gpt-5.1',
  'chat/gpt-4o',
  'responses/gpt-5.1',
  'responses/gpt-4o',
  'claude/claude-opus-4-6',
  'claude/claude-sonnet-4-5',
  'claude/claude-3-5-haiku-latest',
  'vertex/gemini-2.5-flash',
  'vertex/gemini-3-pro-preview',
] as const
type Model = (typeof MODELS)[number]

/** `as`: the body of a request in the fields of older clients. */
type Row = { settings: Body; as?: Body; sent: Partial<Record<Model, Sent>> }

const TABLE: Record<string, Row> = {
  temperature: {
    settings: { temperature: 0.25 },
    as: { llm_config: { temperature: 0.25 } },
    sent: {
      'chat/gpt-5.1': { body: { temperature: undefined }, leftOut: [/^temperature: gpt-5.1 takes only 1/] },
      'chat/gpt-4o': { body: { temperature: 0.25 } },
      'responses/gpt-5.1': { body: { temperature: undefined }, leftOut: [/^temperature/] },
      'responses/gpt-4o': { body: { temperature: 0.25 } },
      'claude/claude-opus-4-6': { body: { temperature: 0.25 } },
      'claude/claude-sonnet-4-5': { body: { temperature: 0.25 } },
      'claude/claude-3-5-haiku-latest': { body: { temperature: 0.25 } },
      'vertex/gemini-2.5-flash': { body: { 'generationConfig.temperature': 0.25 } },
      'vertex/gemini-3-pro-preview': { body: { 'generationConfig.temperature': 0.25 } },
    },
  },
  'top p': {
    settings: { top_p: 0.5 },
    as: { model_settings: { top_p: 0.5 } },
    sent: {
      ...onModels(['chat/gpt-5.1', 'responses/gpt-5.1'], { body: { top_p: undefined }, leftOut: [/^top_p: gpt-5.1/] }),
      ...onModels(['chat/gpt-4o', 'responses/gpt-4o'], { body: { top_p: 0.5 } }),
      ...onModels(['claude/claude-opus-4-6', 'claude/claude-sonnet-4-5', 'claude/claude-3-5-haiku-latest'], {
        body: { top_p: 0.5 },
      }),
      ...onModels(['vertex/gemini-2.5-flash', 'vertex/gemini-3-pro-preview'], {
        body: { 'generationConfig.topP': 0.5 },
      }),
    },
  },
  'output limit': {
    settings: { max_output_tokens: 4321 },
    as: { max_tokens: 4321 },
    sent: {
      'chat/gpt-5.1': { body: { max_tokens: 4321 } },
      'chat/gpt-4o': { body: { max_tokens: 4321 } },
      'responses/gpt-5.1': { body: { max_output_tokens: 4321 } },
      'responses/gpt-4o': { body: { max_output_tokens: 4321 } },
      'claude/claude-opus-4-6': { body: { max_tokens: 4321 } },
      'claude/claude-sonnet-4-5': { body: { max_tokens: 4321 } },
      'claude/claude-3-5-haiku-latest': { body: { max_tokens: 4321 } },
      'vertex/gemini-2.5-flash': { body: { 'generationConfig.maxOutputTokens': 4321 } },
      'vertex/gemini-3-pro-preview': { body: { 'generationConfig.maxOutputTokens': 4321 } },
    },
  },
  'no parallel calls': {
    settings: { parallel_tool_calls: false },
    as: { parallel_tool_calls: false },
    sent: {
      'chat/gpt-5.1': { body: { parallel_tool_calls: false } },
      'chat/gpt-4o': { body: { parallel_tool_calls: false } },
      'responses/gpt-5.1': { body: { parallel_tool_calls: false } },
      'responses/gpt-4o': { body: { parallel_tool_calls: false } },
      'claude/claude-opus-4-6': { body: { 'tool_choice.disable_parallel_tool_use': true } },
      'claude/claude-sonnet-4-5': { body: { 'tool_choice.disable_parallel_tool_use': true } },
      'claude/claude-3-5-haiku-latest': { body: { 'tool_choice.disable_parallel_tool_use': true } },
      'vertex/gemini-2.5-flash': { body: {}, leftOut: [/^parallel_tool_calls: Gemini/] },
      'vertex/gemini-3-pro-preview': { body: {}, leftOut: [/^parallel_tool_calls: Gemini/] },
    },
  },
  effort: {
    settings: { reasoning: { reasoning_effort: 'high' } },
    as: { llm_config: { reasoning_effort: 'high' } },
    sent: {
      'chat/gpt-5.1': { body: { reasoning_effort: 'high' } },
      'chat/gpt-4o': { body: { reasoning_effort: undefined }, leftOut: [/^reasoning effort: gpt-4o/] },
      'responses/gpt-5.1': { body: { 'reasoning.effort': 'high' } },
      'responses/gpt-4o': { body: { reasoning: undefined }, leftOut: [/^reasoning effort: gpt-4o/] },
      'claude/claude-opus-4-6': { body: { 'thinking.type': 'adaptive', 'output_config.effort': 'high' } },
      'claude/claude-sonnet-4-5': { body: { 'thinking.type': 'enabled', 'thinking.budget_tokens': 24_576 } },
      'claude/claude-3-5-haiku-latest': { body: { thinking: undefined }, leftOut: [/^reasoning: .* has no thinking/] },
      'vertex/gemini-2.5-flash': { body: { 'generationConfig.thinkingConfig.thinkingBudget': 24_576 } },
      'vertex/gemini-3-pro-preview': { body: { 'generationConfig.thinkingConfig.thinkingLevel': 'HIGH' } },
    },
  },
  'no reasoning': {
    settings: { thinking: { type: 'disabled' } },
    as: { enable_reasoner: false },
    sent: {
      'chat/gpt-5.1': { body: { reasoning_effort: 'none' } },
      'chat/gpt-4o': { body: { reasoning_effort: undefined } },
      'responses/gpt-5.1': { body: { 'reasoning.effort': 'none' } },
      'responses/gpt-4o': { body: { reasoning: undefined } },
      'claude/claude-opus-4-6': { body: { 'thinking.type': 'disabled', output_config: undefined } },
      'claude/claude-sonnet-4-5': { body: { thinking: undefined } },
      'claude/claude-3-5-haiku-latest': { body: { thinking: undefined } },
      'vertex/gemini-2.5-flash': { body: { 'generationConfig.thinkingConfig.thinkingBudget': 0 } },
      'vertex/gemini-3-pro-preview': {
        body: { 'generationConfig.thinkingConfig.thinkingLevel': 'LOW' },
        leftOut: [/always thinks/],
      },
    },
  },
  'thinking budget': {
    settings: { thinking: { type: 'enabled', budget_tokens: 2048 } },
    as: { max_reasoning_tokens: 2048 },
    sent: {
      'chat/gpt-5.1': { body: { reasoning_effort: undefined }, leftOut: [/^thinking budget/] },
      'chat/gpt-4o': { body: {}, leftOut: [/^thinking budget/] },
      'responses/gpt-5.1': { body: {}, leftOut: [/^thinking budget/] },
      'responses/gpt-4o': { body: {}, leftOut: [/^thinking budget/] },
      'claude/claude-opus-4-6': { body: { 'thinking.type': 'adaptive' }, leftOut: [/^thinking budget/] },
      'claude/claude-sonnet-4-5': { body: { thinking: { type: 'enabled', budget_tokens: 2048 } } },
      'claude/claude-3-5-haiku-latest': { body: { thinking: undefined }, leftOut: [/has no thinking/] },
      'vertex/gemini-2.5-flash': { body: { 'generationConfig.thinkingConfig.thinkingBudget': 2048 } },
      'vertex/gemini-3-pro-preview': { body: { 'generationConfig.thinkingConfig.thinkingBudget': 2048 } },
    },
  },
  'thinking without a budget': {
    settings: { thinking: { type: 'enabled' } },
    as: { reasoning: true },
    sent: {
      'chat/gpt-5.1': { body: { reasoning_effort: 'medium' } },
      'chat/gpt-4o': { body: {}, leftOut: [/^reasoning effort/] },
      'responses/gpt-5.1': { body: { 'reasoning.effort': 'medium' } },
      'responses/gpt-4o': { body: {}, leftOut: [/^reasoning effort/] },
      'claude/claude-opus-4-6': { body: { 'thinking.type': 'adaptive', 'output_config.effort': 'medium' } },
      'claude/claude-sonnet-4-5': { body: { 'thinking.budget_tokens': 12_288 } },
      'claude/claude-3-5-haiku-latest': { body: { thinking: undefined }, leftOut: [/has no thinking/] },
      'vertex/gemini-2.5-flash': { body: { 'generationConfig.thinkingConfig.thinkingBudget': 8_192 } },
      'vertex/gemini-3-pro-preview': { body: { 'generationConfig.thinkingConfig.thinkingLevel': 'HIGH' } },
    },
  },
  'a schema of the answer': {
    settings: { response_format: FORMAT },
    as: { response_format: FORMAT },
    sent: {
      ...onModels(['chat/gpt-5.1', 'chat/gpt-4o'], {
        body: {
          response_format: { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA, strict: true } },
        },
      }),
      ...onModels(['responses/gpt-5.1', 'responses/gpt-4o'], {
        body: { 'text.format': { type: 'json_schema', name: 'place', schema: SCHEMA, strict: true } },
      }),
      ...onModels(['claude/claude-opus-4-6', 'claude/claude-sonnet-4-5'], {
        body: { 'output_config.format': { type: 'json_schema', schema: SCHEMA } },
      }),
      'claude/claude-3-5-haiku-latest': {
        body: { output_config: undefined, 'system.0.text': /fits this schema: .*"city"/ },
        leftOut: [/^response_format: .* has no structured outputs/],
      },
      'vertex/gemini-2.5-flash': {
        body: {
          'generationConfig.responseMimeType': undefined,
          'systemInstruction.parts.0.text': /this schema: .*city/,
        },
        leftOut: [/^response_format: .* together with tools/],
      },
      'vertex/gemini-3-pro-preview': {
        body: {
          'generationConfig.responseMimeType': 'application/json',
          'generationConfig.responseJsonSchema.properties': SCHEMA.properties,
        },
      },
    },
  },
  'JSON without a schema': {
    settings: { response_format: { type: 'json_object' } },
    as: { llm_config: { response_format: { type: 'json_object' } } },
    sent: {
      ...onModels(['chat/gpt-5.1', 'chat/gpt-4o'], {
        body: { response_format: { type: 'json_object' }, 'messages.0.content': /JSON/ },
      }),
      ...onModels(['responses/gpt-5.1', 'responses/gpt-4o'], {
        body: { 'text.format': { type: 'json_object' }, 'input.0.role': 'developer', 'input.0.content': /JSON/ },
      }),
      ...onModels(['claude/claude-opus-4-6', 'claude/claude-sonnet-4-5', 'claude/claude-3-5-haiku-latest'], {
        body: { output_config: undefined, 'system.0.text': /must be JSON/ },
        leftOut: [/has no JSON mode; the system prompt asks/],
      }),
      'vertex/gemini-2.5-flash': {
        body: { 'systemInstruction.parts.0.text': /must be JSON/ },
        leftOut: [/together with tools/],
      },
      'vertex/gemini-3-pro-preview': { body: { 'generationConfig.responseMimeType': 'application/json' } },
    },
  },
  'strict tools': {
    settings: { strict: true },
    as: { llm_config: { strict: true } },
    sent: {
      ...onModels(['chat/gpt-5.1', 'chat/gpt-4o'], { body: { 'tools.0.function.strict': true } }),
      ...onModels(['responses/gpt-5.1', 'responses/gpt-4o'], { body: { 'tools.0.strict': true } }),
      ...onModels(['claude/claude-opus-4-6', 'claude/claude-sonnet-4-5'], {
        body: { 'tools.0.strict': true, 'tools.0.input_schema.additionalProperties': false },
      }),
      'claude/claude-3-5-haiku-latest': { body: { 'tools.0.strict': undefined }, leftOut: [/has no strict tools/] },
      ...onModels(['vertex/gemini-2.5-flash', 'vertex/gemini-3-pro-preview'], {
        body: { 'toolConfig.functionCallingConfig.mode': 'VALIDATED' },
      }),
    },
  },
  verbosity: {
    settings: { verbosity: 'low' },
    as: { llm_config: { verbosity: 'low' } },
    sent: {
      'chat/gpt-5.1': { body: { verbosity: 'low' } },
      'chat/gpt-4o': { body: { verbosity: undefined }, leftOut: [/^verbosity: gpt-4o takes only medium/] },
      'responses/gpt-5.1': { body: { 'text.verbosity': 'low' } },
      'responses/gpt-4o': { body: { text: undefined }, leftOut: [/^verbosity: gpt-4o/] },
      ...onModels(MODELS.slice(4), { body: { verbosity: undefined }, leftOut: [/^verbosity: the .* API has no/] }),
    },
  },
  'frequency penalty': {
    settings: { frequency_penalty: 0.5 },
    as: { llm_config: { frequency_penalty: 0.5 } },
    sent: {
      'chat/gpt-5.1': { body: { frequency_penalty: undefined }, leftOut: [/^frequency_penalty: gpt-5.1/] },
      'chat/gpt-4o': { body: { frequency_penalty: 0.5 } },
      ...onModels(['responses/gpt-5.1', 'responses/gpt-4o'], { body: {}, leftOut: [/^frequency_penalty/] }),
      ...onModels(MODELS.slice(4, 7), { body: { frequency_penalty: undefined }, leftOut: [/^frequency_penalty/] }),
      ...onModels(MODELS.slice(7), { body: { 'generationConfig.frequencyPenalty': 0.5 } }),
    },
  },
}

function onModels(models: readonly Model[], sent: Sent): Partial<Record<Model, Sent>> {
  return Object.fromEntries(models.map((model) => [model, sent]))
}

const valueAt = (body: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((value, key) => (value as Body | undefined)?.[key], body)

function assertSent(body: Body, expected: Body, title: string): void {
  for (const [path, value] of Object.entries(expected)) {
    const found = valueAt(body, path)
    if (value instanceof RegExp) assert.match(String(found), value, `${title}: ${path}`)
    else assert.deepEqual(found, value, `${title}: ${path}`)
  }
}

function assertNotes(notes: string[], expected: RegExp[] = [], title: string): void {
  assert.equal(notes.length, expected.length, `${title}: ${notes.join('\n')}`)
  for (const [index, pattern] of expected.entries()) assert.match(notes[index]!, pattern, title)
}

for (const model of MODELS) {
  test(`every setting of an agent reaches ${model}, or the run names it`, async (context) => {
    const { client, received, send, leftOut, fixture } = await serveDialects(context)
    for (const [name, { settings, as, sent }] of Object.entries(TABLE)) {
      const expected = sent[model]!
      const older = asOlderClient(as ?? {})
      for (const [way, body] of Object.entries({ model_settings: { model_settings: settings }, older })) {
        const agent = await client.agents.create({ system: 'You help.', ...body, model } as never)
        const runId = await send(agent.id)
        assertSent(received(), expected.body, `${name} as ${way}`)
        assertNotes(await leftOut(runId), expected.leftOut, `${name} as ${way}`)
      }
    }
    assert.deepEqual(fixture.faults, [])
  })
}

for (const model of MODELS.slice(0, caseCount(MODELS.length))) {
  test(`an update, a conversation, an import and a request with another model reach ${model} with every setting`, async (context) => {
    const { client, received, send, fetch } = await serveDialects(context)
    const plain = await client.agents.create({ system: 'You help.', model: 'chat/plain' })
    for (const [name, { settings, sent }] of Object.entries(TABLE)) {
      const title = (way: string) => `${name} through ${way}`
      const model_settings = settings as never
      const expect = (way: string) => assertSent(received(), sent[model]!.body, title(way))

      const agent = await client.agents.create({ system: 'You help.', model })
      await client.agents.update(agent.id, { model_settings })
      await send(agent.id)
      expect('an update')

      const bare = await client.conversations.create({ agent_id: plain.id, model, model_settings })
      await client.conversations.messages.create(bare.id, { input: 'Hello', streaming: false })
      expect('a new conversation')

      const changed = await client.conversations.create({ agent_id: plain.id })
      await client.conversations.update(changed.id, { model, model_settings })
      await client.conversations.messages.create(changed.id, { input: 'Hello', streaming: false })
      expect('a changed conversation')

      const file = (await fetch('GET', `/v1/agents/${agent.id}/export`)).body
      const { agent_ids } = await client.agents.importFile({ file: new File([JSON.stringify(file)], 'agent.af') })
      await send(agent_ids[0]!)
      expect('an export and an import')
      const again = (await fetch('GET', `/v1/agents/${agent_ids[0]}/export`)).body as { agents: Body[] }
      assert.deepEqual(again.agents[0]!.model_settings, settings, title('a second export'))

      const elsewhere = await client.agents.create({ system: 'You help.', model: 'chat/plain', model_settings })
      await send(elsewhere.id, { override_model: model })
      expect('override_model')
    }
  })
}

/** The client's type of `llm_config` has required fields. */
const asOlderClient = (body: Body): Body => {
  const config = body.llm_config ? Object.assign({}, CONFIG, body.llm_config) : undefined
  return { ...body, ...defined({ llm_config: config }) }
}

const CONFIG = { model: 'model', model_endpoint_type: 'openai', context_window: 100_000 } as const

test('a conversation undoes what its agent asks, and a request turns reasoning on or off for itself alone', async (context) => {
  const { client, received, send } = await serveDialects(context)
  const agent = await client.agents.create({
    model: 'chat/gpt-5.1',
    model_settings: { response_format: { type: 'json_object' }, reasoning: { reasoning_effort: 'low' } },
  })
  const conversation = await client.conversations.create({
    agent_id: agent.id,
    model_settings: { response_format: { type: 'text' } },
  })
  await client.conversations.messages.create(conversation.id, { input: 'Hello', streaming: false })
  assertSent(received(), { response_format: undefined, reasoning_effort: 'low' }, 'conversation')
  const asked: [string | undefined, string][] = [
    ['false', 'none'],
    [undefined, 'low'],
    ['true', 'low'],
  ]
  for (const [enable_thinking, effort] of asked) {
    await send(agent.id, defined({ enable_thinking }) as never)
    assert.equal(received().reasoning_effort, effort, String(enable_thinking))
  }
  const silent = await client.agents.create({ model: 'chat/gpt-5.1', enable_reasoner: false })
  await send(silent.id, { enable_thinking: 'true' } as never)
  assert.equal(received().reasoning_effort, 'medium')
  await send(silent.id)
  assert.equal(received().reasoning_effort, 'none')
})
