import { z } from 'zod'
import { ROUTE_WORDS } from './openapi-words.ts'
import type { DescribedRoute } from './routes.ts'

type JsonSchema = Record<string, unknown>

export type Parameter = { name: string; in: 'path' | 'query'; required: boolean; schema: JsonSchema }

export type Operation = {
  operationId: string
  summary: string
  tags: string[]
  parameters: Parameter[]
  requestBody?: { required: boolean; content: { 'application/json': { schema: JsonSchema } } }
  responses: Record<string, unknown>
}

export type OpenApi = {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  security: Record<string, string[]>[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, unknown> }
}

/** The API as the routes themselves know it: their schemas are the ones requests are checked with. */
export function openApiOf(routes: readonly DescribedRoute[], version: string): OpenApi {
  const schemas: Record<string, JsonSchema> = { Error: ERROR }
  const paths: OpenApi['paths'] = {}
  for (const route of [...routes].sort((one, other) => (one.path < other.path ? -1 : 1))) {
    const path = wirePath(route.path)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: {
      ...{ title: 'Holdfast', version },
      description:
        'Agents that stay alive: nothing is lost, stuck, done twice or hidden. Both spellings of a path serve, with and without a slash at its end.',
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    paths,
    components: { schemas, securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  }
}

const wirePath = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}')

function operationOf(
  { method, path, summary, body, query, group }: DescribedRoute,
  schemas: OpenApi['components']['schemas'],
) {
  const operationId = `${method.toLowerCase()}${path.replaceAll(/\W+/g, '_')}`
  const jsonOf = (schema: z.ZodType) => jsonSchema(schema, { name: operationId, schemas })
  const inPath = [...path.matchAll(/:(\w+)/g)].map(
    ([, name]): Parameter => ({ name: name!, in: 'path', required: true, schema: { type: 'string' } }),
  )
  const operation: Operation = {
    operationId,
    summary: summary ?? ROUTE_WORDS[`${method} ${path}`] ?? `${method} ${wirePath(path)}`,
    tags: [group ?? path.split('/')[2] ?? 'server'],
    parameters: [...inPath, ...(query ? queryParameters(jsonOf(query)) : [])],
    ...(body ? { requestBody: bodyOf(body, jsonOf(body)) } : {}),
    responses: RESPONSES,
  }
  return operation
}

const bodyOf = (body: z.ZodType, schema: JsonSchema) => ({
  required: !body.safeParse({}).success,
  content: { 'application/json': { schema } },
})

function queryParameters({ properties = {}, required = [] }: JsonSchema): Parameter[] {
  const names = required as string[]
  return Object.entries(properties as Record<string, JsonSchema>).map(([name, schema]) => ({
    ...{ name, in: 'query' as const, required: names.includes(name), schema },
  }))
}

type Place = { name: string; schemas: OpenApi['components']['schemas'] }

/** What a caller may send. Parts that refer to themselves get a place of their own, where the document can find them. */
function jsonSchema(schema: z.ZodType, { name, schemas }: Place): JsonSchema {
  const made = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const { $schema: _, $defs = {}, ...rest } = made as JsonSchema & { $defs?: Record<string, JsonSchema> }
  const moved = (value: JsonSchema): JsonSchema =>
    JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', `"#/components/schemas/${name}.`))
  for (const [key, part] of Object.entries($defs)) schemas[`${name}.${key}`] = moved(part)
  return moved(rest)
}

const ERROR: JsonSchema = {
  type: 'object',
  properties: {
    detail: { description: 'What was wrong and where; for some conflicts an object with a code.' },
    trace_id: { type: 'string' },
    run_id: { type: 'string' },
  },
  required: ['detail'],
}

const RESPONSES = {
  '200': {
    description: 'Done. What is told as it happens comes as server-sent events.',
    content: { 'application/json': { schema: {} }, 'text/event-stream': { schema: { type: 'string' } } },
  },
  '4XX': {
    description: 'A mistake of the caller, or a state it must know about',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  },
  '5XX': {
    description: 'A failure of ours or of a model; 503 passes by itself',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
  },
}
