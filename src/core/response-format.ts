import { defined } from './defined.ts'
import type { Json, JsonObject } from './json.ts'

/** The form that an application asks of the text of every answer. `text` undoes what a wider setting asks. */
export type ResponseFormat = { type: 'text' } | { type: 'json' } | JsonSchemaFormat
export type JsonSchemaFormat = {
  type: 'json-schema'
  name: string
  schema: Json
  description?: string
  /** Absent: wherever the schema permits it. */
  strict?: boolean
}

/** Parses the client's `response_format`; undefined if it is not one. */
export function parseResponseFormat(wire: Json | undefined): ResponseFormat | undefined {
  if (!isObject(wire)) return undefined
  switch (wire.type) {
    case 'text':
      return { type: 'text' }
    case 'json_object':
      return { type: 'json' }
    case 'json_schema':
      return isObject(wire.json_schema) ? parseJsonSchema(wire.json_schema) : undefined
    default:
      return undefined
  }
}

/** Applications send the schema alone, or OpenAI's form of it, which has a name around the schema. */
function parseJsonSchema(wire: JsonObject): JsonSchemaFormat | undefined {
  const isNamed = isObject(wire.schema)
  const schema = isNamed ? wire.schema! : wire
  if (!isNamed && !SCHEMA_KEYWORDS.some((keyword) => keyword in wire)) return undefined
  const stated = isNamed ? wire.name : wire.title
  const { description, strict } = isNamed ? wire : {}
  return {
    type: 'json-schema',
    name: nameFrom(stated),
    schema,
    ...defined({
      description: typeof description === 'string' ? description : undefined,
      strict: typeof strict === 'boolean' ? strict : undefined,
    }),
  }
}

const SCHEMA_KEYWORDS = ['type', 'properties', '$ref', '$defs', 'anyOf', 'oneOf', 'allOf', 'enum', 'const', 'items']

/** Vendors accept up to 64 letters, digits, underscores and hyphens. */
function nameFrom(stated: Json | undefined): string {
  const name = typeof stated === 'string' ? stated.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) : ''
  return name === '' ? 'answer' : name
}

/** What the system prompt says where the API of a model has no such option. */
export function formatDemand(format: Exclude<ResponseFormat, { type: 'text' }>): string {
  const demand = 'Your last answer must be JSON, and nothing else'
  return format.type === 'json' ? `${demand}.` : `${demand}, that fits this schema: ${JSON.stringify(format.schema)}`
}

export const withDemand = (system: string, demand: string): string =>
  system.trim() === '' ? demand : `${system}\n\n${demand}`

const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
