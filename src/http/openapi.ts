import { z } from 'zod'
import { defined } from '../core/defined.ts'
import type { Operation } from './operation.ts'

export type JsonSchema = Record<string, unknown>

export type Parameter = {
  name: string
  in: 'path' | 'query'
  required: boolean
  description?: string
  schema: JsonSchema
}

type Content = Record<string, { schema: JsonSchema; example?: unknown }>

export type DescribedOperation = {
  operationId: string
  summary: string
  tags: string[]
  security?: []
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, { description: string; content?: Content }>
}

export type OpenApi = {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  security: Record<string, string[]>[]
  paths: Record<string, Record<string, DescribedOperation>>
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, unknown> }
}

/** Builds the OpenAPI document from the operations: its schemas are the ones that requests are validated with. */
export function buildOpenApi(operations: readonly Operation[], version: string): OpenApi {
  const schemas: Components = {}
  const paths: OpenApi['paths'] = {}
  for (const operation of [...operations].sort((one, other) => (one.path < other.path ? -1 : 1))) {
    const path = operation.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][operation.method.toLowerCase()] = describe(operation, schemas)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version,
      description: 'Server for long-lived AI agents. Every path works with and without a trailing slash.',
    },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    paths,
    components: { schemas, securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
  }
}

type Components = OpenApi['components']['schemas']

function describe(operation: Operation, schemas: Components): DescribedOperation {
  const { method, path, summary, group, params, query, body, consumes, example, scope } = operation
  const operationId = `${method.toLowerCase()}${path.replaceAll(/\W+/g, '_')}`
  const jsonOf = (schema: z.ZodType, io: 'input' | 'output') => jsonSchema(schema, { io, name: operationId, schemas })
  return {
    operationId,
    summary,
    tags: [group ?? path.split('/')[2] ?? 'server'],
    ...defined({ security: scope === 'open' ? ([] as []) : undefined }),
    parameters: [
      ...(params ? parametersOf(jsonOf(params, 'input'), 'path') : []),
      ...(query ? parametersOf(jsonOf(query, 'input'), 'query') : []),
    ],
    ...defined({
      requestBody: body
        ? {
            required: !body.safeParse({}).success,
            content: {
              [consumes]: { schema: jsonOf(body, 'input'), ...defined({ example }) },
            },
          }
        : undefined,
    }),
    responses: responsesOf(operation, jsonOf(operation.answer, 'output'), jsonOf(errorSchema, 'output')),
  }
}

function parametersOf({ properties = {}, required = [] }: JsonSchema, place: Parameter['in']): Parameter[] {
  const names = required as string[]
  return Object.entries(properties as Record<string, JsonSchema>).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: names.includes(name),
    ...defined({ description: typeof description === 'string' ? description : undefined }),
    schema,
  }))
}

const errorSchema = z
  .object({
    detail: z
      .unknown()
      .optional()
      .describe('What is wrong and where, as text; for some conflicts an object with a `code`.'),
    trace_id: z.string().optional(),
    run_id: z.string().optional(),
    error: z
      .unknown()
      .optional()
      .describe('Routes of OpenAI’s API have it in place of `detail`: `message`, `type`, `param` and `code`.'),
  })
  .meta({ id: 'Error', description: 'The body of every response with a status of 400 or higher.' })

function responsesOf({ answer, produces, streams }: Operation, schema: JsonSchema, error: JsonSchema) {
  const refusal = { content: { 'application/json': { schema: error } } }
  return {
    ...successOf({ answer, produces, streams }, schema),
    '4XX': { description: 'The request is invalid, not allowed, or in conflict with the current state.', ...refusal },
    '5XX': { description: 'The server or a model failed. A 503 is temporary: send the request again.', ...refusal },
  }
}

function successOf(
  { answer, produces, streams }: Pick<Operation, 'answer' | 'produces' | 'streams'>,
  schema: JsonSchema,
): DescribedOperation['responses'] {
  if (answer instanceof z.ZodNever) return {}
  if (answer instanceof z.ZodUndefined) return { '204': { description: 'Success.' } }
  switch (streams) {
    case 'never':
      return { '200': { description: 'Success.', content: { [produces]: { schema } } } }
    case 'always':
      return {
        '200': { description: 'The data of one server-sent event.', content: { 'text/event-stream': { schema } } },
      }
    case 'on-request':
      return {
        '200': {
          description: 'Success, or server-sent events if the request asks for a stream.',
          content: { [produces]: { schema }, 'text/event-stream': { schema: { type: 'string' } } },
        },
      }
  }
}

type JsonSchemaOptions = { io: 'input' | 'output'; name: string; schemas: Components }

/**
 * Converts a schema to JSON Schema. Named parts (`.meta({ id })`) become components under their name, recursive parts
 * under the name of the operation.
 */
function jsonSchema(schema: z.ZodType, { io, name, schemas }: JsonSchemaOptions): JsonSchema {
  // Wrapped in an object so that a schema that is itself named becomes a reference, too.
  const made = z.toJSONSchema(z.object({ it: schema }), { io, unrepresentable: 'any' }) as JsonSchema
  const { $defs = {}, properties } = made as { $defs?: Components; properties: { it: JsonSchema } }
  const nameOf = (key: string) => (key.startsWith('__') ? `${name}.${key}` : key)
  const moved = (value: JsonSchema): JsonSchema =>
    JSON.parse(
      JSON.stringify(value).replaceAll(
        /"#\/\$defs\/([^"]+)"/g,
        (_, key: string) => `"#/components/schemas/${nameOf(key)}"`,
      ),
    )
  for (const [key, { id: _, ...part }] of Object.entries($defs)) schemas[nameOf(key)] ??= moved(part)
  const { id: _, ...rest } = moved(properties.it)
  return rest
}
