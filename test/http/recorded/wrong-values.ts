/** The part of JSON Schema that the OpenAPI document of the server uses. */
export type Schema = {
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema | boolean
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
  pattern?: string
  format?: string
  default?: unknown
}

/** A few values of each kind: the same mistake is reported in the same way for every field. */
const MOST_VALUES = 5
const LONGEST = 5_000
const MOST_ITEMS = 200
const MOST_DEPTH = 3

/** Values that a schema does not allow, and values at its limits. */
export function wrongValues(schema: Schema, depth = 0): unknown[] {
  const different = new Map(candidates(schema, depth).map((value) => [JSON.stringify(value), value]))
  return [...different.values()].slice(0, MOST_VALUES)
}

/** A minimal value that a schema allows. */
export function rightValue(schema: Schema): unknown {
  if ('const' in schema) return schema.const
  if (schema.enum) return schema.enum[0]
  const [choice] = choicesOf(schema)
  if (choice) return rightValue(choice)
  switch (typeOf(schema)) {
    case 'string':
      return 'something'
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, 1)
    case 'boolean':
      return true
    case 'array':
      return []
    default:
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, rightValue(schema.properties?.[name] ?? {})]),
      )
  }
}

function candidates(schema: Schema, depth: number): unknown[] {
  if (depth > MOST_DEPTH) return [5]
  if ('const' in schema || schema.enum) return ['unknown-value', 5, {}]
  const choices = choicesOf(schema)
  if (choices.length > 0) return interleaved(choices.map((choice) => wrongValues(choice, depth + 1)))
  switch (typeOf(schema)) {
    case 'string':
      return wrongTexts(schema)
    case 'integer':
    case 'number':
      return wrongNumbers(schema)
    case 'boolean':
      return ['true', 1]
    case 'array':
      return wrongLists(schema, depth)
    case 'object':
      return wrongObjects(schema, depth)
    default:
      return [5, 'text']
  }
}

function wrongTexts({ minLength, maxLength, pattern, format }: Schema): unknown[] {
  return [
    5,
    ...(minLength ? [''] : []),
    ...(maxLength && maxLength <= LONGEST ? [`{{long:${maxLength + 1}}}`] : []),
    ...(pattern || format ? ['@ no match @'] : []),
    'with a \0 NUL',
  ]
}

function wrongNumbers({ type, minimum, maximum }: Schema): unknown[] {
  const isWhole = [type].flat().includes('integer')
  return [
    '1',
    ...(isWhole ? [1.5] : []),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
    {},
  ]
}

function wrongLists({ items = {}, maxItems }: Schema, depth: number): unknown[] {
  const tooMany = maxItems && maxItems <= MOST_ITEMS ? [Array(maxItems + 1).fill(rightValue(items))] : []
  return ['text', ...tooMany, ...wrongValues(items, depth + 1).map((item) => [item]), {}]
}

function wrongObjects(schema: Schema, depth: number): unknown[] {
  const { properties = {}, required = [], additionalProperties } = schema
  const whole = rightValue(schema) as Record<string, unknown>
  const withWrong = Object.entries(properties).map(([name, part]) => ({
    ...whole,
    [name]: wrongValues(part, depth + 1)[0],
  }))
  const without = required.map((name) => Object.fromEntries(Object.entries(whole).filter(([other]) => other !== name)))
  const inside =
    typeof additionalProperties === 'object' ? wrongValues(additionalProperties, depth + 1).slice(0, 2) : []
  return ['text', [], ...without, ...withWrong, ...inside.map((value) => ({ key: value }))]
}

/** The alternatives of a schema, without null. */
function choicesOf({ anyOf, oneOf, allOf }: Schema): Schema[] {
  return (anyOf ?? oneOf ?? allOf?.slice(-1) ?? []).filter(({ type }) => type !== 'null')
}

const typeOf = ({ type }: Schema): string | undefined => [type].flat().find((one) => one !== 'null')

/** Interleaves lists, so that a long list does not push out the others. */
function interleaved(lists: unknown[][]): unknown[] {
  const longest = Math.max(...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat()
}
