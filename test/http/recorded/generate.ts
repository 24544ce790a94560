import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { defined } from '../../../src/core/defined.ts'
import { GENERATED } from './corpus.ts'
import { MISSING_UUID, type RecordedRequest } from './request.ts'
import { startServerProcess } from './server-process.ts'
import { UNDESCRIBED_BODIES, UNDESCRIBED_QUERIES } from './undescribed.ts'
import { rightValue, type Schema, wrongValues } from './wrong-values.ts'

type Parameter = { name: string; in: string; required: boolean; schema: Schema }
type Operation = { parameters: Parameter[]; requestBody?: { content: { 'application/json': { schema: Schema } } } }
type Route = { method: string; path: string; query: Record<string, Schema>; body?: Schema }

async function routesOf(command: string): Promise<Route[]> {
  const server = await startServerProcess(command)
  try {
    const response = await fetch(`http://127.0.0.1:${server.port}/openapi.json`)
    const document = (await response.json()) as { paths: Record<string, Record<string, Operation>> }
    return Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => routeOf(method.toUpperCase(), path, operation)),
    )
  } finally {
    await server.stop()
  }
}

function routeOf(method: string, path: string, { parameters, requestBody }: Operation): Route {
  const name = `${method} ${path}`
  const described = parameters.filter((one) => one.in === 'query').map(({ name: key, schema }) => [key, schema])
  const query = { ...Object.fromEntries(described), ...UNDESCRIBED_QUERIES[name] }
  const body = requestBody?.content['application/json'].schema ?? UNDESCRIBED_BODIES[name]
  return { method, path, query, ...defined({ body }) }
}

/** The value of each path parameter. Requests that delete a resource use a spare one. */
const IDS: Record<string, string> = {
  agent_id: '{{spare}}',
  block_id: '{{block}}',
  conversation_id: '{{spare-conversation}}',
  key_id: '{{spare-key-id}}',
  label: 'persona',
  mcp_server_id: '{{stdio-server}}',
  memory_id: '{{passage}}',
  message_id: '{{message}}',
  process_id: 'nothing',
  run_id: '{{run}}',
  step_id: '{{step}}',
  tool_id: '{{tool}}',
  tool_name: 'slow_count',
  user_id: '{{user}}',
}

const PREFIXES: Record<string, string> = { conversation_id: 'conv', memory_id: 'passage' }

const missingId = (name: string): string =>
  name.endsWith('_id') && name !== 'process_id'
    ? `${PREFIXES[name] ?? name.replace(/_id$/, '')}-${MISSING_UUID}`
    : 'nothing'

const filled = (path: string, id: (name: string) => string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name) => id(name))

const goodPath = ({ path }: Route): string => filled(path, (name) => IDS[name]!)

/** One item is enough in lists of agents, which are large. */
function goodQuery({ method, path, query }: Route): Record<string, string> {
  return defined({
    limit: query.limit && method === 'GET' ? '1' : undefined,
    include: query.include ? 'none' : undefined,
    agent_id: path === '/v1/conversations' && method === 'POST' ? '{{spare}}' : undefined,
    query: path.endsWith('/archival-memory/search') ? 'sea' : undefined,
    organization_id: path === '/v1/audit' ? '{{org}}' : undefined,
  })
}

const address = (path: string, query: Record<string, string>, more: string[] = []): string => {
  const pairs = [...Object.entries(query).map(([name, value]) => `${name}=${value}`), ...more]
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`
}

/** Their answers differ each time. */
const MEASUREMENTS = new Set(['/metrics', '/v1/cache'])

function badQueries(route: Route): RecordedRequest[] {
  const { method, path, query } = route
  if (method === 'DELETE' || MEASUREMENTS.has(path)) return []
  const good = goodQuery(route)
  const json = method === 'GET' ? {} : { json: goodBody(route) }
  const whole = (more: string[]): RecordedRequest => {
    const replaced = new Set(more.map((pair) => pair.split('=')[0]))
    const rest = Object.fromEntries(Object.entries(good).filter(([name]) => !replaced.has(name)))
    return { method, path: address(goodPath(route), rest, more), ...json }
  }
  const each = Object.entries(query).flatMap(([name, schema]) =>
    queryValues(name, schema).map((value) => whole([`${name}=${value}`])),
  )
  const twice = Object.keys(query).map((name) => whole([`${name}=1`, `${name}=2`]))
  const unknown = method !== 'GET' ? [] : [whole(['unknown=1', 'unknown=2'])]
  return [...each, ...twice, ...unknown]
}

function queryValues(name: string, schema: Schema): string[] {
  if (name === 'after' || name === 'before') return ['', 'nonsense', `message-${MISSING_UUID}`, '{{step}}']
  if (schema.enum) return ['', 'nonsense']
  if (schema.type === 'integer') return ['', 'nonsense', '0', '1.5', '100000000000']
  return ['', 'nonsense', '%00']
}

function badPaths(route: Route): RecordedRequest[] {
  const { method, path } = route
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
  const query = goodQuery(route)
  const json = route.body ? { json: goodBody(route) } : {}
  const withId = (name: string, id: string): RecordedRequest => ({
    method,
    path: address(
      filled(path, (one) => (one === name ? id : IDS[one]!)),
      query,
    ),
    ...json,
  })
  const each = names.flatMap((name) => {
    const missing = missingId(name)
    const wrong = [missing, 'nonsense', missing.toUpperCase(), '%00', '{{long:201}}']
    // Labels, tools and processes can have any name.
    return (missing === 'nothing' ? [...wrong, '%2F', '%E4'] : wrong).map((id) => withId(name, id))
  })
  if (names.length === 0) return []
  return [...each, { method, path: address(goodPath(route), query), key: 'other-admin', ...json }]
}

/** A request with two mistakes: which of them is reported is part of the contract. */
function twoMistakes(route: Route): RecordedRequest[] {
  const { method, path, body } = route
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!)
  const paths = names.length === 0 ? [] : [filled(path, missingId), filled(path, () => 'nonsense')]
  const [wrongQuery] = Object.entries(route.query)
    .filter(([, schema]) => schema.enum || schema.type === 'integer')
    .map(([name]) => `${name}=nonsense`)
  const wrongBody = body ? { json: allWrong(body) } : undefined
  const withQuery = wrongQuery ? paths.map((wrong) => ({ method, path: `${wrong}?${wrongQuery}` })) : []
  const withBody = wrongBody ? paths.map((wrong) => ({ method, path: wrong, ...wrongBody })) : []
  const withBoth =
    wrongQuery && wrongBody
      ? [goodPath(route), ...paths].map((one) => ({ method, path: `${one}?${wrongQuery}`, ...wrongBody }))
      : []
  return [...withQuery, ...withBody, ...withBoth]
}

function allWrong({ properties = {} }: Schema): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, wrongValues(schema)[0]]))
}

const KEYS = ['none', 'reader', 'worker', 'other-admin']

/** Requests for missing ids with almost no body: they do nothing, even if the key is not refused. */
function refusedKeys({ method, path }: Route): RecordedRequest[] {
  const only = MEASUREMENTS.has(path) ? { only: 'status' as const } : {}
  const query = path === '/v1/audit' ? '?after=audit-0' : method === 'GET' ? '?limit=1' : ''
  return KEYS.map((key) => ({
    method,
    path: `${filled(path, missingId)}${query}`,
    key,
    ...only,
    ...defined({ json: method === 'GET' || method === 'DELETE' ? undefined : { limit: 1 } }),
  }))
}

const JSON_TYPE = { 'content-type': 'application/json' }

function badBodies(route: Route): RecordedRequest[] {
  if (route.method === 'GET' || route.method === 'DELETE') return []
  const one = { method: route.method, path: address(goodPath(route), goodQuery(route)) }
  const whole = goodBody(route)
  const raw = (text: string) => ({ ...one, raw: text, headers: JSON_TYPE })
  if (!route.body)
    return [raw('[]'), raw('{'), raw('"text"'), { ...one, raw: '{}', headers: { 'content-type': 'text/plain' } }]
  return [
    one,
    raw(''),
    ...['{', '[]', '"text"', 'null', '5'].map(raw),
    { ...one, json: {} },
    { ...one, json: { ...whole, unknown_field: { a: [1] }, 'nul\0': 'nul\0' } },
    { ...one, raw: '{}', headers: { 'content-type': 'text/plain' } },
    raw(`{"a":${'['.repeat(70)}${']'.repeat(70)}}`),
  ]
}

function badFields(route: Route): RecordedRequest[] {
  const { method, body } = route
  const { properties = {}, required = [] } = body ?? {}
  const path = address(goodPath(route), goodQuery(route))
  const whole = goodBody(route)
  const without = (name: string) => Object.fromEntries(Object.entries(whole).filter(([other]) => other !== name))
  const each = Object.entries(properties).flatMap(([name, schema]) =>
    [null, ...wrongValues(schema)].map((value) => ({ method, path, json: { ...beside(name, whole), [name]: value } })),
  )
  const together = Object.keys(properties).length > 1 ? [{ method, path, json: allWrong(body ?? {}) }] : []
  return [...required.map((name) => ({ method, path, json: without(name) })), ...each, ...together]
}

/** `input` and `messages` exclude each other. */
const beside = (name: string, whole: Record<string, unknown>): Record<string, unknown> =>
  name === 'input' ? Object.fromEntries(Object.entries(whole).filter(([other]) => other !== 'messages')) : whole

/** The valid fields beside a wrong one. Where they would start a turn, the model does not exist. */
function goodBody({ method, path, body }: Route): Record<string, unknown> {
  const name = `${method} ${path}`
  if (/\/messages(\/async|\/stream)?$/.test(path) && method === 'POST' && !path.startsWith('/v1/holdfast'))
    return { messages: [{ role: 'user', content: 'fail with bad request' }], override_model: 'nowhere/model' }
  return GOOD_BODIES[name] ?? (body ? (rightValue(body) as Record<string, unknown>) : {})
}

const FUNCTION = 'def generated(a: int):\n    """Does nothing."""\n    pass'

const GOOD_BODIES: Record<string, Record<string, unknown>> = {
  'POST /v1/agents': { name: 'generated', model: 'nowhere/model', include_base_tools: false },
  'POST /v1/holdfast/agents': { name: 'generated', model: 'scripted/friendly' },
  'POST /v1/holdfast/conversations/{conversation_id}/messages': { text: 'fail with bad request' },
  'POST /v1/agents/{agent_id}/messages/cancel': { run_ids: [`run-${MISSING_UUID}`] },
  'PATCH /v1/agents/{agent_id}/tools/approval/{tool_name}': { requires_approval: false },
  'POST /v1/agents/{agent_id}/tools/{tool_name}/run': { args: { to: 'nothing' } },
  'POST /v1/conversations/{conversation_id}/stream': { run_id: `run-${MISSING_UUID}` },
  'POST /v1/keys': { name: 'generated', scope: 'read' },
  'POST /v1/mcp-servers': { server_name: 'generated', config: { command: 'true', args: [] } },
  'POST /v1/runs/{run_id}/stream': { starting_after: 100_000 },
  'POST /v1/tools': { source_code: FUNCTION },
  'PUT /v1/tools': { source_code: FUNCTION },
  'POST /v1/tools/search': { limit: 1 },
}

/**
 * Writes `generated.json`: invalid requests derived from the OpenAPI document of a server. They are stored as data, so
 * that a server with another document still gets the same requests.
 */
const { values } = parseArgs({
  options: { command: { type: 'string', default: fileURLToPath(new URL('../../../src/main.ts', import.meta.url)) } },
})
const routes = await routesOf(values.command)
const requests = [
  ...routes.flatMap(badQueries),
  ...routes.flatMap(badPaths),
  ...routes.flatMap(twoMistakes),
  ...routes.flatMap(refusedKeys),
  ...routes.flatMap(badBodies),
  ...routes.flatMap(badFields),
]
writeFileSync(GENERATED, `[\n${requests.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`)
console.log(`${requests.length} requests over ${routes.length} routes`)
