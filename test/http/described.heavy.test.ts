import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type OutputUnit, Validator } from '@cfworker/json-schema'
import { defined } from '../../src/core/defined.ts'
import { type ImportRecord, newProgress } from '../../src/core/import.ts'
import type { DescribedOperation, JsonSchema, OpenApi } from '../../src/http/openapi.ts'
import { isFullRun } from '../harness/case-count.ts'
import { queueModel, says } from '../harness/queue-model.ts'
import { serveFixture } from './fixture-resource-server.ts'
import { KEY } from './fixture-server-process.ts'

type Route = { method: string; path: string; operation: DescribedOperation }

/** Values of every JSON type, and some that are almost valid. Each is allowed by some fields and refused by others. */
const IN_BODY: readonly unknown[] = isFullRun
  ? [0, 1, 5, -1, 1.5, 1e12, '', 'text', 'true', 'asc', true, null, [], ['text'], {}]
  : [-1, 'text', {}]
const IN_QUERY: readonly string[] = isFullRun
  ? ['0', '1', '5', '-1', '1.5', '1000000000000', 'text', 'true', 'asc', '2026-01-01']
  : ['-1', 'text']

/** Rules that the schema of one field cannot express (rules between fields, time zones): a valid value may still be refused. */
const CHECKED_BY_HANDLER = new Set([
  'body.session_expiry',
  'body.context_window_limit',
  'body.messages',
  'body.requires_approval',
  'body.timezone',
  'query.agent_id',
])

/** Routes that this test cannot use: they never end, or they revoke the keys of the test. */
const NOT_TRIED = /^(get \/v1\/runs\/\{run_id\}\/chunks|(post|delete) \/v1\/(keys|users|organizations).*)$/

test('every route accepts the values that /openapi.json allows, refuses all others, and answers as described', {
  timeout: 280_000,
}, async (context) => {
  const { document, ask, ids } = await servedApi(context)
  const faults: string[] = []
  let sent = 0
  for (const route of routesIn(document)) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'unknown')
    const example = exampleOf(route)
    const answer = route.method === 'delete' ? undefined : await ask(route.method, path, example)
    if (answer) faults.push(...answerFaults(route, answer, document))
    for (const { name, part, schema } of fieldsOf(route)) {
      for (const value of part === 'body' ? IN_BODY : IN_QUERY) {
        const isAllowed =
          part === 'body' ? allows(schema, value, document) : allowsText(schema, String(value), document)
        if (isAllowed && route.method === 'delete') continue
        const where = `${route.method} ${route.path} ${part}.${name} = ${JSON.stringify(value)}`
        const { status, detail } =
          part === 'body'
            ? await ask(route.method, path, { ...(example as object), [name]: value })
            : await ask(route.method, `${path}?${new URLSearchParams({ [name]: String(value) })}`, example)
        sent++
        const refusal = route.operation.tags.includes('openai') ? 400 : 422
        const isRefused = status === refusal && detail.includes(`${part}.${name}`)
        if (status === 500) faults.push(`${where} is answered with an internal error: ${detail}`)
        else if (!isAllowed && !isRefused) faults.push(`${where} is not described but accepted: ${status} ${detail}`)
        else if (isAllowed && isRefused && !CHECKED_BY_HANDLER.has(`${part}.${name}`))
          faults.push(`${where} is described but refused: ${detail}`)
      }
    }
  }
  assert.deepEqual(faults.slice(0, 30), [])
  assert.ok(sent > (isFullRun ? 2_000 : 400), `only ${sent} requests were sent`)
})

/** A server with one resource of each kind, so that requests reach their handlers. */
async function servedApi(context: TestContext) {
  const {
    client,
    fetch: json,
    fixture,
  } = await serveFixture(context, {
    providers: () => ({ test: queueModel([says('Hello.')]), scripted: queueModel([says('Hello.')]) }),
  })
  const agent = await client.agents.create({ model: 'test/model', memory_blocks: [{ label: 'human', value: 'x' }] })
  const conversation = await client.conversations.create({ agent_id: agent.id })
  const answer = await client.agents.messages.create(agent.id, { input: 'hi' })
  const tool = await client.tools.create({ source_code: 'def mine(a: int):\n    pass' })
  const { organizationId, deps } = fixture.context
  const imported: ImportRecord = {
    id: `import-${crypto.randomUUID()}`,
    organizationId,
    origin: { type: 'server', url: 'http://127.0.0.1:9' },
    options: {},
    state: 'running',
    progress: newProgress('Waiting'),
    passes: 1,
    createdAt: 0,
    startedAt: 0,
    updatedAt: 0,
  }
  await deps.store.imports.open(imported, undefined)
  const server = await client.mcpServers.create({
    server_name: 'search',
    config: { mcp_server_type: 'streamable_http', server_url: 'http://127.0.0.1:9/mcp' } as never,
  })
  const schedule = await client.agents.schedule.create(agent.id, {
    messages: [{ role: 'user', content: 'hi' }],
    schedule: { scheduled_at: 5_000_000_000_000 },
  })
  const ids: Record<string, string> = {
    schedule_id: schedule.id,
    scheduled_message_id: schedule.id,
    agent_id: agent.id,
    block_id: agent.blocks[0]!.id!,
    label: 'human',
    conversation_id: conversation.id,
    tool_id: tool.id,
    tool_name: 'mine',
    run_id: answer.usage.run_ids![0]!,
    message_id: answer.messages[0]!.id,
    step_id: (answer.messages[0] as { step_id: string }).step_id,
    mcp_server_id: server.id!,
    import_id: imported.id,
    memory_id: `passage-${crypto.randomUUID()}`,
    response_id: `resp_${answer.usage.run_ids![0]!.slice('run-'.length)}`,
    model: agent.id,
    webhook_id: `webhook-${crypto.randomUUID()}`,
    hook_id: `hook-${crypto.randomUUID()}`,
    number: '1',
  }
  const document = (await json('GET', '/openapi.json')).body as OpenApi
  const ask = async (method: string, path: string, body: unknown): Promise<Answer> => {
    const stop = new AbortController()
    const response = await fetch(`${client.baseURL}${path}`, {
      method: method.toUpperCase(),
      headers: {
        authorization: `Bearer ${KEY}`,
        ...defined({ 'content-type': body === undefined ? undefined : 'application/json' }),
      },
      ...defined({ body: body === undefined ? undefined : JSON.stringify(body) }),
      redirect: 'manual',
      signal: stop.signal,
    })
    const type = response.headers.get('content-type') ?? ''
    if (type.startsWith('text/event-stream')) {
      stop.abort()
      return { status: response.status, type, body: undefined, detail: '' }
    }
    const text = await response.text()
    const parsed = type.startsWith('application/json') ? JSON.parse(text) : undefined
    return {
      status: response.status,
      type,
      body: parsed,
      detail: JSON.stringify(parsed?.detail ?? parsed?.error?.message ?? ''),
    }
  }
  return { document, ask, ids }
}

type Answer = { status: number; type: string; body: unknown; detail: string }

type Field = { name: string; part: 'query' | 'body'; schema: JsonSchema }

const routesIn = ({ paths }: OpenApi): Route[] =>
  Object.entries(paths)
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ method, path, operation })),
    )
    .filter(({ method, path }) => !NOT_TRIED.test(`${method} ${path}`))

function fieldsOf({ operation: { parameters, requestBody } }: Route): Field[] {
  const inQuery = parameters.filter((one) => one.in === 'query')
  const { properties = {} } = requestBody?.content['application/json']?.schema ?? {}
  return [
    ...inQuery.map(({ name, schema }): Field => ({ name, part: 'query', schema })),
    ...Object.entries(properties as Record<string, JsonSchema>).map(
      ([name, schema]): Field => ({ name, part: 'body', schema }),
    ),
  ]
}

const exampleOf = ({ operation: { requestBody } }: Route): unknown => {
  const body = requestBody?.content['application/json']
  return body && (body.example ?? {})
}

const validators = new WeakMap<JsonSchema, Validator>()

function validate(schema: JsonSchema, value: unknown, { components }: OpenApi) {
  const known = validators.get(schema) ?? new Validator({ ...schema, components } as never, '2020-12')
  validators.set(schema, known)
  return known.validate(value)
}

/** Dates are validated less strictly than the format: every date that JavaScript parses is accepted. */
function allows(schema: JsonSchema, value: unknown, document: OpenApi): boolean {
  if (schema.format === 'date-time' && typeof value === 'string') return !Number.isNaN(Date.parse(value))
  if (Array.isArray(schema.anyOf)) return schema.anyOf.some((one) => allows(one as JsonSchema, value, document))
  return validate(schema, value, document).valid
}

/** Query values are text: a number is written in digits, and one value is a list with one item. */
const allowsText = (schema: JsonSchema, text: string, document: OpenApi): boolean =>
  [text, [text], ...(/\d/.test(text) ? [Number(text)] : [])].some((value) => allows(schema, value, document))

/** How an answer differs from its description. */
function answerFaults({ method, path, operation }: Route, { status, type, body, detail }: Answer, document: OpenApi) {
  const where = `${method} ${path}: ${status} ${detail}`
  if (status === 500) return [where]
  if (status >= 300) return []
  const described = operation.responses[String(status)]
  if (!described) return [`${where} is not described`]
  if (!type.startsWith('application/json')) return []
  const { valid, errors } = validate(described.content!['application/json']!.schema, body, document)
  return valid ? [] : [`${where} is not as described: ${deepest(errors)}`]
}

const deepest = (errors: OutputUnit[]): string => {
  const last = errors.toSorted((one, other) => other.instanceLocation.length - one.instanceLocation.length)[0]
  return `${last?.instanceLocation} ${last?.error}`
}
