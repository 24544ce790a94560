import fc from 'fast-check'

type Schema = Record<string, unknown>

/** Values that schemas do not allow. */
const ODD = fc.oneof(
  fc.constantFrom<unknown>('', '\0', '%', 'a/b', '\ud800', '../..', -1, 1e308, null, true, [], {}, [[]], 0.5),
  fc.constantFrom<unknown>('x'.repeat(5_000), '2026-01-01', `agent-${crypto.randomUUID()}`, { a: { b: [null] } }),
  fc.string(),
  fc.integer(),
  fc.jsonValue({ maxDepth: 2 }),
)

/** Ids and names that exist in the fixture, so that requests are not only refused. */
export type Words = readonly string[]

/** Values that a JSON schema allows, with some invalid ones. `depth` limits recursive schemas. */
export function valuesOf(schema: Schema, words: Words, depth = 4): fc.Arbitrary<unknown> {
  const allowed = depth === 0 ? ODD : allowedBy(schema, words, depth)
  return fc.oneof({ weight: 9, arbitrary: allowed }, { weight: 1, arbitrary: ODD })
}

function allowedBy(schema: Schema, words: Words, depth: number): fc.Arbitrary<unknown> {
  const one = (part: unknown) => valuesOf(part as Schema, words, depth - 1)
  if ('const' in schema) return fc.constant(schema.const)
  if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]))
  const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (choices) return fc.oneof(...choices.map(one))
  const parts = schema.allOf as Schema[] | undefined
  if (parts) return fc.tuple(...parts.map(one)).map((values) => Object.assign({}, ...values.filter(isObject)))
  switch (schema.type) {
    case 'string':
      return fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 30 }))
    case 'integer':
      return fc.integer({ min: -2, max: 200 })
    case 'number':
      return fc.oneof(fc.integer({ min: -2, max: 200 }), fc.double({ noNaN: true }))
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(one(schema.items ?? {}), { maxLength: 3 })
    case 'object':
      return objectsOf(schema, one)
  }
  return ODD
}

function objectsOf(
  { properties = {}, required = [] }: Schema,
  one: (part: unknown) => fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  const fields = Object.entries(properties as Record<string, Schema>)
  const named = fc.record(Object.fromEntries(fields.map(([name, part]) => [name, one(part)])), { requiredKeys: [] })
  const needed = (required as string[]).filter((name) => fields.some(([field]) => field === name))
  const kept = fc.record(
    Object.fromEntries(needed.map((name) => [name, one(fields.find(([field]) => field === name)![1])])),
  )
  // Few optional fields at a time: with all of them set, almost every request would be invalid.
  const few = fc.tuple(named, fc.integer({ min: 0, max: 4 })).map(([all, count]) => {
    const names = Object.keys(all).slice(0, count)
    return Object.fromEntries(names.map((name) => [name, all[name]]))
  })
  return fc.tuple(few, kept).map(([some, must]) => ({ ...some, ...must }))
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
