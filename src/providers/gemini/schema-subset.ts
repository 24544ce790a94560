import type { Json } from '../../core/json.ts'

/** The JSON Schema keywords that the vendor supports; some of the others make it reject the request. */
const KEPT: Record<string, 'value' | 'schema' | 'schemas' | 'named-schemas'> = {
  $id: 'value',
  $anchor: 'value',
  $ref: 'value',
  $defs: 'named-schemas',
  type: 'value',
  format: 'value',
  title: 'value',
  description: 'value',
  enum: 'value',
  items: 'schema',
  prefixItems: 'schemas',
  minItems: 'value',
  maxItems: 'value',
  minimum: 'value',
  maximum: 'value',
  anyOf: 'schemas',
  oneOf: 'schemas',
  properties: 'named-schemas',
  additionalProperties: 'schema',
  required: 'value',
  propertyOrdering: 'value',
}

type Schema = { [key: string]: Json }

export function schemaSubset(schema: Json): Json {
  if (!isObject(schema)) return schema
  const subset: Schema = {}
  for (const [key, value] of Object.entries(withoutConst(schema))) {
    const kind = Object.hasOwn(KEPT, key) ? KEPT[key] : undefined
    if (!kind) continue
    // A `$ref` must be the only keyword.
    if (schema.$ref !== undefined && !key.startsWith('$')) continue
    if (kind === 'value') subset[key] = value
    else if (kind === 'schema') subset[key] = schemaSubset(value)
    else if (kind === 'schemas' && Array.isArray(value)) subset[key] = value.map(schemaSubset)
    else if (kind === 'named-schemas' && isObject(value)) subset[key] = mapValues(value, schemaSubset)
  }
  return withoutOddEnum(subset)
}

/** `const` is not supported; an enum with one value is equivalent. */
function withoutConst({ const: only, ...schema }: Schema): Schema {
  return only === undefined || schema.enum !== undefined ? schema : { ...schema, enum: [only] }
}

/** Enums are supported for strings and numbers only. */
function withoutOddEnum({ enum: choices, ...schema }: Schema): Schema {
  const isRead = Array.isArray(choices) && choices.every((choice) => ['string', 'number'].includes(typeof choice))
  return isRead ? { ...schema, enum: choices } : schema
}

const mapValues = (value: Schema, change: (inner: Json) => Json): Schema =>
  Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, change(inner)]))

const isObject = (value: Json | undefined): value is Schema =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
