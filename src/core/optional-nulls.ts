import type { Json, JsonObject } from './json.ts'

/**
 * The arguments of a call without the nulls that stand for absent properties. A model in strict mode must send every
 * property, so it sends null for an optional one that it does not use.
 */
export function withoutOptionalNulls(input: Json, schema: Json): Json {
  if (!isObject(schema)) return input
  if (Array.isArray(input)) return input.map((item) => withoutOptionalNulls(item, schema.items ?? null))
  const { properties, required } = schema
  if (!isObject(input) || !isObject(properties)) return input
  const demanded = Array.isArray(required) ? required : []
  const kept = Object.entries(input).filter(
    ([name, value]) => value !== null || demanded.includes(name) || permitsNull(properties[name]),
  )
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutOptionalNulls(value, properties[name] ?? null)]))
}

function permitsNull(schema: Json | undefined): boolean {
  if (!isObject(schema)) return true
  const { type, anyOf, oneOf, enum: choices, $ref } = schema
  if (Array.isArray(choices)) return choices.includes(null)
  if (type !== undefined) return type === 'null' || (Array.isArray(type) && type.includes('null'))
  const list = anyOf ?? oneOf
  return Array.isArray(list) ? list.some(permitsNull) : $ref === undefined
}

const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
