import type { Json } from '../../core/json.ts'

/** What the vendor reads of JSON Schema; its answer to some of the rest is a refusal. */
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
    // Beside a reference nothing else is taken.
    if (schema.$ref !== undefined && !key.startsWith('$')) continue
    if (kind === 'value') subset[key] = value
    else if (kind === 'schema') subset[key] = schemaSubset(value)
    else if (kind === 'schemas' && Array.isArray(value)) subset[key] = value.map(schemaSubset)
    else if (kind === 'named-schemas' && isObject(value)) subset[key] = mapValues(value, schemaSubset)
  }
  return withoutOddEnum(subset)
}

/** `const` is not read; an enumeration of one says the same. */
function withoutConst({ const: only, ...schema }: Schema): Schema {
  return only === undefined || schema.enum !== undefined ? schema : { ...schema, enum: [only] }
}

/** Enumerations are read for texts and numbers only. */
function withoutOddEnum({ enum: choices, ...schema }: Schema): Schema {
  const isRead = Array.isArray(choices) && choices.every((choice) => ['string', 'number'].includes(typeof choice))
  return isRead ? { ...schema, enum: choices } : schema
}

const mapValues = (value: Schema, change: (inner: Json) => Json): Schema =>
  Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, change(inner)]))

const isObject = (value: Json | undefined): value is Schema =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
