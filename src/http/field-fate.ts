import { z } from 'zod'
import type { JsonObject } from '../core/json.ts'

/**
 * What becomes of a field that Holdfast knows and does not carry out. `warned`: `x-holdfast-warnings` names it.
 * `refused`: its schema rejects every value that asks for something. All other fields have their effect.
 */
type FieldFate = { fate: 'warned' | 'refused'; why: string; asks(value: unknown): boolean }

const fates = new WeakMap<z.ZodType, FieldFate>()

function withFate<S extends z.ZodType>(schema: S, fate: FieldFate): S {
  fates.set(schema, fate)
  return schema
}

/** A field without effect. `asks`: whether a value asks for something; by default all but false and empty ones do. */
export function withoutEffect<S extends z.ZodType>(schema: S, why: string, asks = asksForSomething): S {
  const text = `Has no effect: ${why} The response header \`x-holdfast-warnings\` names it.`
  return withFate(schema.describe(text), { fate: 'warned', why, asks })
}

/** A field of which some values have no effect. */
export const partlyWithoutEffect = <S extends z.ZodType>(
  schema: S,
  { text, why, asks }: { text: string; why: string; asks(value: unknown): boolean },
): S => withFate(schema.describe(text), { fate: 'warned', why, asks })

const refused = <S extends z.ZodType>(schema: S, why: string): S =>
  withFate(schema.describe(`Refused: ${why}`), { fate: 'refused', why, asks: asksForSomething })

/** A list, a flag or a text of the client that Holdfast refuses, except for the values that ask for nothing. */
export const refusedList = (why: string) => refused(z.array(z.string()).max(0, { error: why }).nullish(), why)
export const refusedFlag = (why: string) => refused(z.literal(false, { error: why }).nullish(), why)
export const refusedValue = (why: string) => refused(z.null({ error: why }).optional(), why)

export const fateOf = (schema: z.ZodType): FieldFate | undefined => fates.get(schema)

function asksForSomething(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return false
  return typeof value !== 'object' || Object.keys(value).length > 0
}

/** The schemas inside a schema that matter here; the members of zod that they are read from. */
type Definition = {
  type: string
  shape?: Record<string, z.ZodType>
  innerType?: z.ZodType
  element?: z.ZodType
  options?: z.ZodType[]
  left?: z.ZodType
  right?: z.ZodType
  in?: z.ZodType
  out?: z.ZodType
  getter?(): z.ZodType
}

const definitionOf = (schema: z.ZodType): Definition => schema.def as unknown as Definition

/** A sentence for each field of a request that has no effect: the declared ones, and those that no schema knows. */
export function fieldsWithoutEffect(schema: z.ZodType, value: unknown, path = ''): string[] {
  if (value === null || typeof value !== 'object') return []
  const { type, shape, innerType, element, options, left, right, in: input, out, getter } = definitionOf(schema)
  if (type === 'object') return fieldsOf(shape!, value as JsonObject, path)
  if (type === 'array') {
    const items = value as unknown[]
    return Array.isArray(value)
      ? items.flatMap((item, index) => fieldsWithoutEffect(element!, item, `${path}.${index}`))
      : []
  }
  if (type === 'union') return fewest(options!.filter(readsObjects).map((one) => fieldsWithoutEffect(one, value, path)))
  if (type === 'intersection') return [left!, right!].flatMap((side) => fieldsWithoutEffect(side, value, path))
  if (type === 'lazy') return fieldsWithoutEffect(getter!(), value, path)
  if (type === 'pipe')
    return fieldsWithoutEffect(definitionOf(input!).type === 'transform' ? out! : input!, value, path)
  return innerType ? fieldsWithoutEffect(innerType, value, path) : []
}

function fieldsOf(shape: Record<string, z.ZodType>, value: JsonObject, path: string): string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    const field = path === '' ? name : `${path}.${name}`
    const schema = Object.hasOwn(shape, name) ? shape[name]! : undefined
    if (!schema) return asksForSomething(member) ? [`${field}: is not a known field and has no effect.`] : []
    const fate = fateOf(schema)
    if (fate) return fate.asks(member) ? [`${field}: ${fate.why}`] : []
    return fieldsWithoutEffect(schema, member, field)
  })
}

/** A value matches the option of a union that knows the most of it. */
const fewest = (lists: string[][]): string[] =>
  lists.reduce((best: string[] | undefined, list) => (best && best.length <= list.length ? best : list), undefined) ??
  []

const SCALARS: ReadonlySet<string> = new Set(['string', 'number', 'boolean', 'null', 'literal', 'enum'])
const readsObjects = (schema: z.ZodType): boolean => !SCALARS.has(definitionOf(schema).type)
