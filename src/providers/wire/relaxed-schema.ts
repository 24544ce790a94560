import type { Json } from '../../core/json.ts'

/** Keywords that servers which compile schemas to grammars do not support. */
const INEXPRESSIBLE = new Set([
  'pattern',
  'format',
  'patternProperties',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  'dependentRequired',
  'unevaluatedProperties',
  'unevaluatedItems',
  'contains',
  'uniqueItems',
  'contentEncoding',
  'contentMediaType',
])
/** Keywords whose members have free names: a property may be called `format`. */
const MAPS_OF_SCHEMAS = new Set(['properties', '$defs', 'definitions'])
/** Keywords that hold values, not schemas. */
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'required'])

/** Removes the keywords that a grammar cannot express; the result allows more, never less. */
export function relaxedSchema(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(relaxedSchema)
  if (schema === null || typeof schema !== 'object') return schema
  const kept = Object.entries(schema).filter(([key]) => !INEXPRESSIBLE.has(key))
  return Object.fromEntries(
    kept.map(([key, value]) => {
      if (VALUES.has(key)) return [key, value]
      return [key, MAPS_OF_SCHEMAS.has(key) ? relaxedMap(value) : relaxedSchema(value)]
    }),
  )
}

function relaxedMap(schemas: Json): Json {
  if (schemas === null || typeof schemas !== 'object' || Array.isArray(schemas)) return schemas
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, relaxedSchema(schema)]))
}
