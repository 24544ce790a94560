import type { Json, JsonObject } from '../json.ts'
import { compilePattern, type LinearPattern } from './linear-pattern.ts'
import { PatternFault } from './pattern-syntax.ts'

/** A schema that cannot be used, with the field and the reason. */
export class SchemaFault extends Error {}

/** A schema with its references and patterns, each resolved once. */
export type SchemaDocument = {
  root: Json
  /** Some part counts the properties or items that others have judged. */
  hasUnevaluated: boolean
  resolve(reference: string): Json
  pattern(source: string): LinearPattern
}

/** Schemas of real tools have up to some thousand parts. */
const MAX_PARTS = 50_000
const MAX_NESTING = 200
/** Instructions of all patterns; one with hundreds of words has some thousand. */
const MAX_PATTERNS_SIZE = 200_000

export function openSchema(root: Json): SchemaDocument {
  const names = new Map<string, Json>([['#', root]])
  const patterns = new Map<string, LinearPattern>()
  const parts = partsOf(root)
  let patternsSize = 0
  let hasUnevaluated = false
  for (const { value } of parts) {
    if (typeof value.$anchor === 'string') names.set(`#${value.$anchor}`, value)
    if (typeof value.$dynamicAnchor === 'string') names.set(`#${value.$dynamicAnchor}`, value)
    if (typeof value.$id === 'string') names.set(value.$id.replace(/#$/, ''), value)
    hasUnevaluated ||= value.unevaluatedProperties !== undefined || value.unevaluatedItems !== undefined
  }
  const resolve = (reference: string): Json => {
    const [base = '', fragment = ''] = reference.split('#')
    const document = base === '' ? root : names.get(base)
    const known = names.get(reference) ?? (document === undefined ? undefined : atPointer(document, `#${fragment}`))
    if (known === undefined) throw new SchemaFault(`$ref ${JSON.stringify(reference)} is not in the schema`)
    names.set(reference, known)
    return known
  }
  const pattern = (source: string): LinearPattern => {
    const known = patterns.get(source)
    if (known) return known
    const compiled = compileOrRefuse(source)
    patterns.set(source, compiled)
    patternsSize += compiled.size
    if (patternsSize > MAX_PATTERNS_SIZE) throw new SchemaFault('its patterns are too large together')
    return compiled
  }
  return { root, hasUnevaluated, resolve, pattern }
}

/** Checks what `openSchema` leaves for later: types of keywords, references and patterns. Throws `SchemaFault`. */
export function checkSchema(root: Json): void {
  const document = openSchema(root)
  for (const { value, location } of partsOf(root)) {
    const at = (keyword: string, work: () => void) => {
      try {
        work()
      } catch (fault) {
        if (!(fault instanceof SchemaFault)) throw fault
        throw new SchemaFault(`${[...location, keyword].join('.')}: ${fault.message}`)
      }
    }
    // Names of properties are parts too: a property may be named pattern.
    if (location.at(-1) === 'properties') continue
    if (typeof value.pattern === 'string') at('pattern', () => document.pattern(value.pattern as string))
    if (typeof value.$ref === 'string') at('$ref', () => document.resolve(value.$ref as string))
    for (const source of Object.keys(objectOr(value.patternProperties)))
      at('patternProperties', () => document.pattern(source))
  }
}

const objectOr = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})

export const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value)

type Part = { value: JsonObject; location: string[] }

/** Keywords whose value is data and not a schema. */
const DATA = new Set(['const', 'enum', 'default', 'examples', 'example'])

function partsOf(root: Json): Part[] {
  const parts: Part[] = []
  let seen = 0
  const walk = (value: Json, location: string[]): void => {
    if (++seen > MAX_PARTS) throw new SchemaFault(`it has more than ${MAX_PARTS} parts`)
    if (location.length > MAX_NESTING) throw new SchemaFault(`it is nested more than ${MAX_NESTING} deep`)
    if (value === null || typeof value !== 'object') return
    if (!Array.isArray(value)) parts.push({ value, location })
    for (const [key, inner] of Object.entries(value))
      if (!DATA.has(key) || location.at(-1) === 'properties') walk(inner, [...location, key])
  }
  walk(root, [])
  return parts
}

function compileOrRefuse(source: string): LinearPattern {
  try {
    return compilePattern(source)
  } catch (fault) {
    if (!(fault instanceof PatternFault)) throw fault
    throw new SchemaFault(`the pattern ${JSON.stringify(source.slice(0, 200))} cannot be used: ${fault.message}`)
  }
}

function atPointer(root: Json, reference: string): Json | undefined {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return undefined
  let value: Json | undefined = root
  for (const step of reference.slice(2).split('/')) {
    const key = decode(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined
    value = (value as JsonObject)[key]
  }
  return value
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    // A percent sign that is no escape stands for itself.
    return step
  }
}
