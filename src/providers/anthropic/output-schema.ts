import type { Json } from '../../core/json.ts'

/** The keywords that the vendor's structured output supports; it rejects a schema with any other. */
const KEPT = ['$ref', '$defs', 'type', 'enum', 'const', 'anyOf', 'allOf', 'title', 'description', 'required'] as const
const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']

type Schema = { [key: string]: Json }

/** The schema in the vendor's subset: unsupported constraints are dropped, and objects are closed. */
export function outputSchema(schema: Json): Schema {
  if (!isSchema(schema)) return {}
  const kept: Schema = {}
  for (const key of KEPT) if (schema[key] !== undefined) kept[key] = schema[key]
  if (Array.isArray(schema.oneOf) && !kept.anyOf) kept.anyOf = schema.oneOf
  for (const key of ['anyOf', 'allOf']) {
    const list = kept[key]
    if (Array.isArray(list)) kept[key] = list.map(outputSchema)
  }
  if (isSchema(kept.$defs)) kept.$defs = eachSchema(kept.$defs)
  if (isSchema(schema.properties)) kept.properties = eachSchema(schema.properties)
  if (isSchema(schema.properties) || schema.type === 'object') kept.additionalProperties = false
  if (isSchema(schema.items)) kept.items = outputSchema(schema.items)
  if (schema.minItems === 0 || schema.minItems === 1) kept.minItems = schema.minItems
  if (typeof schema.format === 'string' && FORMATS.includes(schema.format)) kept.format = schema.format
  return kept
}

/** False for a schema with free keys: closing its objects would leave out what it permits. */
export function canBeClosed(schema: Json): boolean {
  if (!isSchema(schema)) return false
  if (OPENING.some((keyword) => keyword in schema)) return false
  const { additionalProperties: open, properties, type } = schema
  if (open !== undefined && open !== false) return false
  if (type === 'object' && open === undefined && !isSchema(properties)) return false
  const inner = [properties, schema.$defs].flatMap((schemas) => (isSchema(schemas) ? Object.values(schemas) : []))
  const choices = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (Array.isArray(list) ? list : []))
  const items = schema.items === undefined ? [] : [schema.items]
  return [...inner, ...choices, ...items].every(canBeClosed)
}

const OPENING = ['patternProperties', 'propertyNames', 'not', 'if', 'dependentSchemas', 'prefixItems']

const eachSchema = (schemas: Schema): Schema =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, outputSchema(schema)]))

const isSchema = (value: Json | undefined): value is Schema =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
