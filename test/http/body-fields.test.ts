import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import { fateOf } from '../../src/http/field-fate.ts'
import { SURFACES } from '../../src/http/surfaces.ts'
import { tool } from '../harness/tools.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'

type Shape = Record<string, z.ZodType>
type Definition = {
  type: string
  shape: Shape
  innerType?: z.ZodType
  options?: z.ZodType[]
  left: z.ZodType
  right: z.ZodType
  in: z.ZodType
  out: z.ZodType
  element?: z.ZodType
  getter(): z.ZodType
}

/** The object schemas at the top of a schema. */
function shapesOf(schema: z.ZodType): Shape[] {
  const definition = schema.def as unknown as Definition
  if (definition.type === 'object') return [definition.shape]
  if (definition.type === 'lazy') return shapesOf(definition.getter())
  if (definition.type === 'pipe')
    return shapesOf((definition.in.def as unknown as Definition).type === 'transform' ? definition.out : definition.in)
  if (definition.type === 'intersection') return [definition.left, definition.right].flatMap(shapesOf)
  if (definition.element) return shapesOf(definition.element)
  return definition.innerType ? shapesOf(definition.innerType) : (definition.options ?? []).flatMap(shapesOf)
}

const operations = SURFACES.flatMap((surface) => surface.operations)
const bodyOf = (route: string): Shape =>
  Object.assign({}, ...shapesOf(operations.find(({ method, path }) => `${method} ${path}` === route)!.body!))

/** The test that shows the effect of each field without another fate, and mentions the field by name. */
const EFFECTIVE: Record<string, string> = {
  'http/agents.test.ts':
    'name model tool_ids block_ids tags tool_rules description metadata timezone embedding value limit body_requires_approval text messages override_system approvals',
  'http/conversations.test.ts':
    'memory_blocks tools include_base_tools system compaction_settings label requires_approval query agent_id summary hidden isolated_block_labels archived last_message_at message_id stream_tokens background include_return_message_types run_id otid conversation_id blocks',
  'http/inputs.test.ts': 'initial_message_sequence client_tools client_skills run_ids',
  'http/model-chain.test.ts': 'fallback',
  'http/agents-as-mcp.test.ts': 'jsonrpc id method params',
  'http/old-builtins.test.ts': 'include_base_tool_rules',
  'http/every-setting.heavy.test.ts':
    'llm_config model_settings max_tokens max_reasoning_tokens parallel_tool_calls response_format enable_reasoner reasoning json_schema streaming override_model enable_thinking',
  'http/window-limit.test.ts': 'context_window_limit input include_compaction_messages',
  'http/agent-file.test.ts': 'file append_copy_suffix strip_messages secrets',
  'tools/contract.test.ts': 'source_code tool_exec_environment_variables',
  'tools/egress.test.ts': 'egress',
  'tools/lifecycle.ts': 'effects pip_requirements npm_requirements',
  'imports/import-route.test.ts': 'url key agents rate dry_run',
  'http/memory.test.ts': 'read_only default_requires_approval created_at tag_match_mode',
  'http/mcp-servers.test.ts': 'args return_char_limit tool_types server_name organization_id definition_hash',
  'http/mcp-oauth.heavy.test.ts': 'redirect_url client_id client_secret redirected_to',
  'http/resource-fuzz.test.ts': 'source_type args_json_schema',
  'http/keys.test.ts': 'config scope user_id expires_at',
  'http/message-search.test.ts': 'start_date end_date search_mode',
  'http/replayed-dates.test.ts': 'include_pings',
  'http/bad-input.test.ts': 'max_steps starting_after',
  'http/behaviors/streams.ts': 'cancel_on_disconnect',
  'http/callbacks-postgres.heavy.test.ts': 'callback_url',
  'http/run-records.test.ts': 'feedback',
  'http/when-busy.test.ts': 'when_busy add_default_initial_messages',
  'http/sessions.test.ts': 'session_expiry command_approval leaves',
  'http/recorded/story/agents.ts': 'template_name is_template',
  'http/recorded/story/mcp-files-workspaces.ts':
    'override_existing_tools override_name override_model_handle env_vars_json port minutes',
  'http/webhooks.heavy.test.ts': 'events',
  'http/hooks.test.ts': 'scheme secret template per_minute',
  'http/recorded/story/hooks.ts': 'signature_header',
  'http/schedules.test.ts':
    'request_id at every_seconds starts_at cron ends_at quiet_hours grace_seconds coalesce schedule heartbeat',
  'http/shares.test.ts': 'limits models',
  'http/provider-keys.test.ts': 'provider_keys',
  'http/body-fields.test.ts':
    'content enable_parallel_execution metadata_ archive_id override_embedding_handle on_guarded reasoning_effort',
  'gateway/telegram.test.ts': 'code',
  'http/openai-chat.test.ts':
    'stream temperature top_p user tool_choice stream_options max_completion_tokens verbosity frequency_penalty n modalities presence_penalty logit_bias',
  'http/openai-responses.test.ts':
    'conversation instructions previous_response_id max_output_tokens items encoding_format',
}

const testOf = (field: string): string | undefined =>
  Object.entries(EFFECTIVE).find(([, names]) => names.split(' ').includes(field))?.[0]

test('every field of every body is effective with a test, refused, or named in the warnings', () => {
  const faults: string[] = []
  const seen = new Set<string>()
  for (const { method, path, body } of operations) {
    for (const [name, schema] of body ? shapesOf(body).flatMap(Object.entries<z.ZodType>) : []) {
      if (fateOf(schema)) continue
      seen.add(name)
      const file = testOf(name)
      if (!file) faults.push(`${method} ${path}: ${name} has neither a test in EFFECTIVE nor another fate`)
      else if (!new RegExp(`\\b${name}\\b`).test(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')))
        faults.push(`${file} does not mention ${name}`)
    }
  }
  const known = Object.values(EFFECTIVE).flatMap((names) => names.split(' '))
  faults.push(...known.filter((name) => !seen.has(name)).map((name) => `${name} is in EFFECTIVE, but in no body`))
  assert.deepEqual(faults, [])
})

test('every field without effect or refused is in the tables of docs/migrating.md or docs/openai.md', () => {
  const page = readFileSync(new URL('../../docs/migrating.md', import.meta.url), 'utf8')
  const openai = readFileSync(new URL('../../docs/openai.md', import.meta.url), 'utf8')
  const migrating = page.slice(page.indexOf('## Fields of requests'), page.indexOf('## What is the same'))
  const tables = migrating + openai.slice(openai.indexOf('## Parameters'))
  const named = new Set([...tables.matchAll(/`([^`]+)`/g)].flatMap(([, text]) => text!.split(/[.:] ?/)))
  const fates = operations
    .flatMap(({ method, path, body, query }) =>
      [body, query].flatMap((schema) =>
        schema ? namedFates(schema).map((name) => ({ route: `${method} ${path}`, name })) : [],
      ),
    )
    .filter(({ name }) => !named.has(name))
  assert.deepEqual(fates, [])
})

/** The names of the fields with a fate, at any depth. */
function namedFates(schema: z.ZodType, seen = new Set<z.ZodType>()): string[] {
  if (seen.has(schema)) return []
  seen.add(schema)
  return shapesOf(schema)
    .flatMap((shape) => Object.entries(shape))
    .flatMap(([name, field]) => (fateOf(field) ? [name] : namedFates(field, seen)))
}

const TYPES = fileURLToPath(new URL('../../node_modules/@letta-ai/letta-client/resources/', import.meta.url))

/** The members of an interface of the official client. */
function clientFields(file: string, name: string): string[] {
  const text = readFileSync(`${TYPES}${file}.d.ts`, 'utf8')
  const start = new RegExp(`export interface ${name}\\b[^{]*\\{\\n`).exec(text)!
  const body = text.slice(start.index + start[0].length)
  return [...body.slice(0, body.indexOf('\n}')).matchAll(/^ {4}(\w+)\??:/gm)].map(([, field]) => field!)
}

/** Fields that the client sends in the path or the query. */
const NOT_IN_BODY = new Set(['agent_id'])

const CLIENT: [file: string, name: string, route: string, nested?: string][] = [
  ['agents/agents', 'AgentCreateParams', 'POST /v1/agents'],
  ['agents/agents', 'AgentUpdateParams', 'PATCH /v1/agents/:agent_id'],
  ['agents/messages', 'MessageCreateParamsBase', 'POST /v1/agents/:agent_id/messages'],
  ['agents/messages', 'MessageStreamParams', 'POST /v1/agents/:agent_id/messages/stream'],
  ['agents/messages', 'MessageCreateAsyncParams', 'POST /v1/agents/:agent_id/messages/async'],
  ['conversations/messages', 'MessageCreateParams', 'POST /v1/conversations/:conversation_id/messages'],
  ['conversations/messages', 'MessageStreamParams', 'POST /v1/conversations/:conversation_id/stream'],
  ['conversations/conversations', 'ConversationCreateParams', 'POST /v1/conversations'],
  ['conversations/conversations', 'ConversationUpdateParams', 'PATCH /v1/conversations/:conversation_id'],
  ['tools', 'ToolCreateParams', 'POST /v1/tools'],
  ['tools', 'ToolUpdateParams', 'PATCH /v1/tools/:tool_id'],
  ['tools', 'ToolSearchParams', 'POST /v1/tools/search'],
  ['blocks/blocks', 'BlockCreateParams', 'POST /v1/blocks'],
  ['blocks/blocks', 'BlockUpdateParams', 'PATCH /v1/blocks/:block_id'],
  ['models/models', 'LlmConfig', 'POST /v1/agents', 'llm_config'],
  ...(
    [
      'OpenAI',
      'Anthropic',
      'GoogleAI',
      'GoogleVertex',
      'Azure',
      'Xai',
      'Groq',
      'Deepseek',
      'Together',
      'Bedrock',
    ] as const
  ).map((vendor): [string, string, string, string] => [
    'agents/agents',
    `${vendor}ModelSettings`,
    'POST /v1/agents',
    'model_settings',
  ]),
]

test('every field that the official client can send has a schema', () => {
  const unknown = CLIENT.flatMap(([file, name, route, nested]) => {
    const body = bodyOf(route)
    const shape = nested ? Object.assign({}, ...shapesOf(body[nested]!)) : body
    const fields = clientFields(file, name)
    assert.ok(fields.length > 2, `${name} was not found`)
    return fields
      .filter((field) => !(field in shape) && !NOT_IN_BODY.has(field))
      .map((field) => `${name}.${field} is not in the body of ${route}`)
  })
  assert.deepEqual(unknown, [])
})

test('a field without effect is named in a header of the response, also of a stream; without it there is no header', async (context) => {
  const { warningsOf, agentId } = await serveWarnings(context)
  const ASKS: [body: object, named: RegExp[]][] = [
    [{ enable_sleeptime: true }, [/enable_sleeptime: Holdfast has no sleeptime/]],
    [{ hidden: true, project_id: 'p' }, [/hidden: /, /project_id: /]],
    [{ agent_type: 'voice_convo_agent' }, [/agent_type: agents of this type work like/]],
    [{ llm_config: { put_inner_thoughts_in_kwargs: true } }, [/llm_config.put_inner_thoughts_in_kwargs: /]],
    [{ model_settings: { seed: 7 } }, [/model_settings.seed: is not a known field/]],
    [{ a_typo: 1 }, [/a_typo: is not a known field and has no effect/]],
    [
      { tool_rules: [{ type: 'continue_loop', tool_name: 'x', prompt_template: 'y' }] },
      [/tool_rules.0.prompt_template: /],
    ],
    [{ memory_blocks: [{ label: 'a', value: 'b', project_id: 'p' }] }, [/memory_blocks.0.project_id: /]],
  ]
  for (const [body, named] of ASKS) {
    const warnings = await warningsOf('POST', '/v1/agents', body)
    for (const pattern of named) assert.match(warnings, pattern)
  }
  const neutral = {
    enable_sleeptime: false,
    hidden: null,
    identity_ids: [],
    project_id: null,
    agent_type: 'letta_v1_agent',
  }
  assert.equal(await warningsOf('POST', '/v1/agents', neutral), '')
  const sent = { input: 'Hello', assistant_message_tool_name: 'say', messages: undefined }
  assert.match(
    await warningsOf('POST', `/v1/agents/${agentId}/messages`, sent),
    /assistant_message_tool_name: agents answer/,
  )
  const streamed = { ...sent, streaming: true }
  assert.match(
    await warningsOf('POST', `/v1/agents/${agentId}/messages`, streamed),
    /assistant_message_tool_name: agents answer/,
  )
  const list = `/v1/agents/${agentId}/messages?assistant_message_tool_name=say&use_assistant_message=true`
  assert.equal(await warningsOf('GET', list), '', 'a list takes it')
  assert.match(
    await warningsOf('GET', '/v1/agents?include=agent.blocks&include=agent.soul'),
    /include: .* no such part/,
  )
  assert.equal(await warningsOf('GET', '/v1/agents?include=agent.blocks&include=tags&last_stop_reason='), '')
  assert.match(await warningsOf('GET', '/v1/agents?bogus=1'), /bogus: is not a known field/)
  const long = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field_${index}`, true]))
  assert.ok((await warningsOf('PATCH', `/v1/agents/${agentId}`, long)).length < 4_100, 'a header has a limit')
})

test('a field that Holdfast cannot serve is refused with its name and the reason, and nothing is created', async (context) => {
  const { fetch, client, agentId } = await serveWarnings(context)
  const before = (await client.agents.list()).items.length
  const REFUSED: [method: string, path: string, body: object | undefined, named: RegExp][] = [
    ['POST', '/v1/agents', { identity_ids: ['identity-1'] }, /body.identity_ids: Holdfast has no identities/],
    ['POST', '/v1/agents', { folder_ids: ['folder-1'] }, /body.folder_ids: Holdfast has no folders/],
    ['POST', '/v1/agents', { source_ids: ['source-1'] }, /body.source_ids: /],
    ['POST', '/v1/agents', { from_template: 'x' }, /body.from_template: Holdfast has no templates/],
    ['POST', '/v1/agents', { timezone: 'Mars/Olympus' }, /body.timezone: must be an IANA time zone/],
    ['PATCH', `/v1/agents/${agentId}`, { message_ids: ['message-1'] }, /body.message_ids: /],
    ['POST', `/v1/agents/${agentId}/messages`, { input: 'a', return_logprobs: true }, /body.return_logprobs: /],
    ['POST', `/v1/agents/${agentId}/messages`, { input: 'a', top_logprobs: 3 }, /body.top_logprobs: /],
    ['POST', `/v1/agents/${agentId}/messages/stream`, { input: 'a', return_token_ids: true }, /return_token_ids: /],
    ['POST', `/v1/agents/${agentId}/messages/async`, { input: 'a', max_steps: 0 }, /body.max_steps: /],
    ['POST', `/v1/agents/${agentId}/messages`, { input: 'a', enable_thinking: 'maybe' }, /body.enable_thinking: /],
    [
      'POST',
      `/v1/agents/${agentId}/messages`,
      { input: 'a', include_return_message_types: ['bogus'] },
      /assistant_message/,
    ],
    [
      'GET',
      `/v1/agents/${agentId}/messages?include_return_message_types=bogus`,
      undefined,
      /include_return_message_types/,
    ],
    ['GET', '/v1/agents?identity_id=identity-1', undefined, /query.identity_id: Holdfast has no identities/],
  ]
  for (const [method, path, body, named] of REFUSED) {
    const answer = await fetch(method, path, body)
    assert.equal(answer.status, 422, `${method} ${path} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`)
    assert.match(JSON.stringify(answer.body), named)
  }
  assert.equal((await client.agents.list()).items.length, before)
})

test('a list is not filtered by an unknown reason: it would be empty', async (context) => {
  const { fetch } = await serveFixture(context)
  const answer = await fetch('GET', '/v1/agents?last_stop_reason=tired')
  assert.equal(answer.status, 422)
  assert.match(JSON.stringify(answer.body), /query.last_stop_reason/)
})

test('the time zone of an agent is that of the date in its prompt', async (context) => {
  const { client, fixture } = await serveFixture(context, { script: ANSWERS })
  const agent = await client.agents.create({ model: 'test/model', timezone: 'Pacific/Kiritimati' })
  await client.agents.messages.create(agent.id, { input: 'Hello' })
  assert.match(
    fixture.requests.at(-1)!.system,
    /last recompiled: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(Pacific\/Kiritimati\)/,
  )
})

test('what a tool is created with is kept, and a search in an archive finds the passages of its agent', async (context) => {
  const { client, fetch } = await serveFixture(context)
  const source_code = 'def double(number: int) -> int:\n    """Doubles a number."""\n    return 2 * number'
  const tool = await client.tools.create({ source_code, enable_parallel_execution: true })
  assert.equal(tool.enable_parallel_execution, true)
  const changed = await client.tools.update(tool.id, { metadata_: { team: 'blue' } })
  assert.deepEqual(changed.metadata_, { team: 'blue' })
  const agent = await client.agents.create({ model: 'test/model' })
  await client.agents.passages.create(agent.id, { text: 'Tea is warm.' })
  const inArchive = (id: string) =>
    fetch('POST', '/v1/passages/search', { query: 'tea', archive_id: id }) as Promise<{ body: unknown[] }>
  assert.equal((await inArchive(`archive-${agent.id.slice('agent-'.length)}`)).body.length, 1)
  const file = (await fetch('GET', `/v1/agents/${agent.id}/export`)).body
  const { agent_ids } = await client.agents.importFile({
    file: new File([JSON.stringify(file)], 'agent.af'),
    override_embedding_handle: 'openai/text-embedding-3-small',
  })
  assert.equal((await client.agents.retrieve(agent_ids[0]!)).embedding, 'openai/text-embedding-3-small')
})

test('a command takes a message as texts and images, or as one text', async (context) => {
  const { client, fixture, fetch } = await serveFixture(context, { script: ANSWERS })
  const agent = await client.agents.create({ model: 'test/model' })
  const conversation = await client.conversations.create({ agent_id: agent.id })
  const path = `/v1/holdfast/conversations/${conversation.id}/messages`
  const content = [
    { type: 'text', text: 'Look' },
    { type: 'image', source: { type: 'url', url: 'https://a.example/b' } },
  ]
  const { run_id } = (await fetch('POST', path, { content })).body as { run_id: string }
  await fixture.wait(run_id as never)
  const [said] = fixture.requests.at(-1)!.messages
  assert.match(JSON.stringify(said), /"Look".*https:..a\.example.b/)
  assert.equal(((await fetch('POST', path, { content, text: 'Look' })) as { status: number }).status, 422)
})

test('a command can have guarded calls denied, and an effort of its own', async (context) => {
  const guarded = tool('guarded', undefined, { needsApproval: true })
  const { client, fixture, fetch } = await serveFixture(context, {
    tools: [guarded],
    script: [{ calls: [{ tool: 'guarded', input: {} }] }, { text: 'I may not.' }],
  })
  const agent = await client.agents.create({ model: 'test/model', tools: ['guarded'], include_base_tools: false })
  const conversation = await client.conversations.create({ agent_id: agent.id })
  const path = `/v1/holdfast/conversations/${conversation.id}/messages`
  const { run_id } = (await fetch('POST', path, { text: 'Do it', on_guarded: 'deny', reasoning_effort: 'high' }))
    .body as { run_id: string }
  assert.equal((await fixture.wait(run_id as never)).stopReason, 'end_turn')
  const [accepted] = await fixture.events(run_id as never)
  assert.match(JSON.stringify(accepted), /"modelSettings":\{[^}]*"high"/)
})

const ANSWERS = Array.from({ length: 4 }, () => ({ text: 'Hello.' }))

async function serveWarnings(context: Parameters<typeof serveFixture>[0]) {
  const served = await serveFixture(context, { script: ANSWERS })
  const agent = await served.client.agents.create({ model: 'test/model' })
  const warningsOf = async (method: string, path: string, body?: object): Promise<string> => {
    const init = body ? { body: JSON.stringify(body) } : {}
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const response = await fetch(`${served.client.baseURL}${path}`, { method, headers, ...init })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    return response.headers.get('x-holdfast-warnings') ?? ''
  }
  return { ...served, agentId: agent.id, warningsOf }
}
