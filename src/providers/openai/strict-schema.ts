import { canonicalJson, type Json } from '../../core/json.ts'

type Schema = { [key: string]: Json }

/** Keywords that the vendor's strict mode rejects and that cannot be left out without a change of meaning. */
const REFUSED = [
  'allOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
  'dependentRequired',
  'dependentSchemas',
  'patternProperties',
  'propertyNames',
  'prefixItems',
  'contains',
]
/** Keywords that it rejects too; without them the schema only permits more. */
const DROPPED: ReadonlySet<string> = new Set([
  '$schema',
  'default',
  'examples',
  'minLength',
  'maxLength',
  'uniqueItems',
  'minProperties',
  'maxProperties',
])
const MAPS_OF_SCHEMAS: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions'])

/**
 * The schema in the form that strict mode demands: objects are closed and all their properties required, so an optional
 * one becomes nullable. Undefined if the schema cannot be expressed, such as an object with free keys.
 */
export function strictSchema(schema: Json): Schema | undefined {
  if (!isSchema(schema) || REFUSED.some((keyword) => keyword in schema)) return undefined
  const strict: Schema = {}
  for (const [key, value] of Object.entries(schema)) {
    if (DROPPED.has(key)) continue
    const closed = closedMember(key, value)
    if (closed === undefined) return undefined
    strict[key] = closed
  }
  if (schema.type !== 'object' && !isSchema(schema.properties)) return strict
  return closedObject(schema, strict)
}

/** True if the schema meets the demands of strict mode as it is. */
export function permitsStrict(schema: Json): boolean {
  const strict = strictSchema(schema)
  return strict !== undefined && canonicalJson(strict) === canonicalJson(schema)
}

function closedMember(key: string, value: Json): Json | undefined {
  if (MAPS_OF_SCHEMAS.has(key) && isSchema(value)) return closedMap(value)
  if (key === 'items') return strictSchema(value)
  if (key !== 'anyOf' || !Array.isArray(value)) return value
  const choices = value.map(strictSchema)
  return choices.includes(undefined) ? undefined : (choices as Schema[])
}

function closedMap(schemas: Schema): Schema | undefined {
  const closed: Schema = {}
  for (const [name, schema] of Object.entries(schemas)) {
    const strict = strictSchema(schema)
    if (!strict) return undefined
    closed[name] = strict
  }
  return closed
}

function closedObject(schema: Schema, strict: Schema): Schema | undefined {
  const { additionalProperties: open, properties, required } = schema
  if (open !== undefined && open !== false) return undefined
  if (!isSchema(properties)) return open === false ? { ...strict, properties: {}, required: [] } : undefined
  const stated = Array.isArray(required) ? required : []
  const closed = strict.properties as Schema
  const names = Object.keys(properties)
  return {
    ...strict,
    properties: Object.fromEntries(
      names.map((name) => [name, stated.includes(name) ? closed[name]! : nullable(closed[name] as Schema)]),
    ),
    required: [
      ...stated.filter((name) => names.includes(String(name))),
      ...names.filter((name) => !stated.includes(name)),
    ],
    additionalProperties: false,
  }
}

function nullable(schema: Schema): Schema {
  const { type, enum: choices, anyOf } = schema
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] }
  if (type === undefined || schema.const !== undefined) return { anyOf: [schema, { type: 'null' }] }
  const types = Array.isArray(type) ? type : [type]
  if (types.includes('null')) return schema
  const withNull: Schema = { ...schema, type: [...types, 'null'] }
  return Array.isArray(choices) ? { ...withNull, enum: [...choices, null] } : withNull
}

const isSchema = (value: Json | undefined): value is Schema =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
