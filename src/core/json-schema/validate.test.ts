import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Schema, Validator } from '@cfworker/json-schema'
import { caseCount } from '../../../test/harness/case-count.ts'
import { seededFraction } from '../../../test/harness/seeded.ts'
import type { Json } from '../json.ts'
import { newWorkBudget, OverBudget } from '../work-budget.ts'
import { checkSchema, openSchema } from './schema-document.ts'
import { validate } from './validate.ts'

const isValid = (schema: Json, input: Json, steps = 5_000_000) =>
  validate(input, openSchema(schema), newWorkBudget(steps)).length === 0

const SCHEMAS: Json[] = [
  true,
  { type: ['string', 'null'] },
  { type: 'integer', minimum: 1, exclusiveMaximum: 4, multipleOf: 0.5 },
  { enum: ['a', 1, null, { a: [1] }, [1, 2]] },
  { const: { a: 1, b: 'a' } },
  { type: 'string', minLength: 2, maxLength: 3, pattern: '^a' },
  { type: 'object', properties: { a: { type: 'number' } }, required: ['b'], additionalProperties: false },
  { properties: { a: true }, patternProperties: { '^b': { type: 'string' } }, additionalProperties: { type: 'null' } },
  { propertyNames: { pattern: '^[ab]$' }, minProperties: 1, maxProperties: 2 },
  { type: 'array', items: { type: 'number' }, minItems: 1, maxItems: 3, uniqueItems: true },
  { prefixItems: [{ type: 'number' }, { type: 'string' }], items: { type: 'null' } },
  { contains: { type: 'number' }, minContains: 1, maxContains: 2 },
  { anyOf: [{ type: 'number' }, { required: ['a'] }], not: { const: 1 } },
  { oneOf: [{ type: 'number' }, { minimum: 2 }, { type: 'string' }] },
  { allOf: [{ properties: { a: { type: 'number' } } }, { required: ['a'] }] },
  JSON.parse('{ "if": { "required": ["a"] }, "then": { "required": ["b"] }, "else": { "type": "array" } }') as Json,
  {
    $ref: '#/$defs/list',
    $defs: {
      list: { type: 'array', items: { anyOf: [{ $ref: '#/$defs/list' }, { $ref: '#n' }] } },
      n: { $anchor: 'n', type: 'number' },
    },
  },
  { dependentRequired: { a: ['b'] }, dependentSchemas: { b: { properties: { a: { type: 'string' } } } } },
  {
    properties: { a: true },
    anyOf: [{ properties: { b: { type: 'number' } }, required: ['b'] }, true],
    unevaluatedProperties: false,
  },
  { prefixItems: [true], unevaluatedItems: { type: 'string' } },
]

const LEAVES: Json[] = [null, true, 0, 1, 2, 3.5, '', 'a', 'ab', 'abc', '😀a', 'b']

test('random values are judged as by another implementation of JSON Schema', () => {
  const random = seededFraction(11)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const make = (depth: number): Json => {
    if (depth === 0 || random() < 0.3) return pick(LEAVES)
    const size = Math.floor(random() * 4)
    if (random() < 0.5) return Array.from({ length: size }, () => make(depth - 1))
    return Object.fromEntries(Array.from({ length: size }, () => [pick(['a', 'b', 'bb', 'c']), make(depth - 1)]))
  }
  const others = SCHEMAS.map((schema) => new Validator(structuredClone(schema) as Schema, '2020-12', false))
  for (let count = 0; count < caseCount(20_000); count++) {
    const index = Math.floor(random() * SCHEMAS.length)
    const input = make(3)
    const told = `${JSON.stringify(SCHEMAS[index])} on ${JSON.stringify(input)}`
    assert.equal(isValid(SCHEMAS[index]!, input), others[index]!.validate(input).valid, told)
  }
})

test('formats accept what they name and refuse what they do not', () => {
  const cases: [string, string[], string[]][] = [
    ['date', ['2024-02-29'], ['2023-02-29', '2024-13-01', 'x']],
    ['date-time', ['2024-02-29T10:00:00Z', '2024-02-29t10:00:00.5+02:00'], ['2024-02-29', '2024-02-29T25:00:00Z']],
    ['email', ['ada@example.org'], ['ada', '.a@b.c', 'a..b@c.d', '@b.c']],
    ['hostname', ['a.example'], ['-a.example', 'a..b', '']],
    ['ipv4', ['127.0.0.1'], ['256.0.0.1', '1.2.3']],
    ['ipv6', ['::1', '1:2:3:4:5:6:7:8', '::ffff:127.0.0.1'], ['1:2:3', ':::', '1::2::3', 'g::']],
    ['uri', ['https://a.example/b?c#d', 'mailto:a@b.c'], ['a b', '/relative', 'http://a b']],
    ['uuid', ['6ba7b810-9dad-11d1-80b4-00c04fd430c8'], ['6ba7b810']],
    ['duration', ['P1D', 'PT5M', 'P1Y2M3DT4H'], ['P', 'PT', '1D']],
    ['unknown-format', ['anything'], []],
  ]
  for (const [format, good, bad] of cases) {
    for (const text of good) assert.ok(isValid({ format }, text), `${format}: ${text}`)
    for (const text of bad) assert.ok(!isValid({ format }, text), `${format}: ${text}`)
  }
})

const doubling = (levels: number): Json => ({
  $ref: '#/$defs/l0',
  $defs: Object.fromEntries(
    Array.from({ length: levels }, (_, level) => {
      const next = { $ref: `#/$defs/l${Math.min(level + 1, levels - 1)}` }
      return [`l${level}`, level === levels - 1 ? { type: 'object' } : { allOf: [next, next] }]
    }),
  ),
})

test('references that double with each level, or lead in a circle, end at the budget', () => {
  assert.ok(isValid(doubling(10), {}))
  for (const keyword of ['allOf', 'anyOf', 'oneOf']) {
    const schema = JSON.parse(JSON.stringify(doubling(40)).replaceAll('allOf', keyword)) as Json
    assert.throws(() => isValid(schema, {}), OverBudget, keyword)
  }
  assert.throws(() => isValid({ $ref: '#' }, {}), /refers to itself/)
})

test('twenty thousand different objects are compared without comparing each with each', () => {
  const items = Array.from({ length: 20_000 }, (_, index) => ({ index, name: 'item' }))
  assert.ok(isValid({ uniqueItems: true }, items))
  assert.ok(!isValid({ uniqueItems: true }, [...items, items[0]!]))
})

test('a schema with a part that cannot be used is refused with the place of the part', () => {
  const refused: [Json, RegExp][] = [
    [{ properties: { x: { pattern: '(' } } }, /properties\.x\.pattern: the pattern "\(" cannot be used/],
    [{ properties: { x: { pattern: '(a)\\1' } } }, /refers back to a group/],
    [{ patternProperties: { '(': true } }, /patternProperties: /],
    [{ $ref: '#/$defs/none' }, /\$ref: \$ref "#\/\$defs\/none" is not in the schema/],
    [{ enum: [1], allOf: Array.from({ length: 60_000 }, () => ({})) }, /more than 50000 parts/],
    [JSON.parse(`${'{"not":'.repeat(300)}{}${'}'.repeat(300)}`) as Json, /nested more than 200 deep/],
  ]
  for (const [schema, why] of refused) assert.throws(() => checkSchema(schema), why)
  checkSchema({ properties: { pattern: { type: 'string' }, $ref: { default: { $ref: 'x' } } }, enum: [{ $ref: 'x' }] })
  for (const schema of SCHEMAS) checkSchema(schema)
})
