import type { Json, JsonObject } from './json.ts'
import { closingAt, splitOutside, TYPESCRIPT_BRACKETS } from './source-brackets.ts'

const split = (text: string, signs: string): string[] => splitOutside(text, signs, TYPESCRIPT_BRACKETS)

/** Deeper types are not described. */
const MAX_NESTING = 8

const PLAIN_TYPES: Record<string, JsonObject> = {
  string: { type: 'string' },
  number: { type: 'number' },
  bigint: { type: 'integer' },
  boolean: { type: 'boolean' },
  Date: { type: 'string' },
  object: { type: 'object' },
  any: {},
  unknown: {},
  '': {},
}

/** The schema of a TypeScript type; interfaces and type aliases are looked up in the source. An unknown type takes any value. */
export function typescriptSchema(type: string, source: string, depth = 0): JsonObject {
  const text = type.trim().replace(/^readonly\s+/, '')
  const plain = PLAIN_TYPES[text]
  if (plain || depth > MAX_NESTING) return plain ?? {}
  const choices = split(text, '|').filter((choice) => choice !== 'null' && choice !== 'undefined')
  if (choices.length !== 1 || choices[0] !== text) return unionSchema(choices, source, depth)
  if (isWrapped(text, '(')) return typescriptSchema(text.slice(1, -1), source, depth + 1)
  if (isWrapped(text, '{')) return objectSchema(text.slice(1, -1), source, depth)
  const literal = literalOf(text)
  if (literal !== undefined) return { type: typeof literal, enum: [literal] }
  if (text.endsWith('[]')) return { type: 'array', items: typescriptSchema(text.slice(0, -2), source, depth + 1) }
  const generic = /^(\w+)<([\s\S]*)>$/.exec(text)
  if (generic) return genericSchema(generic[1]!, split(generic[2]!, ','), source, depth)
  return /^[A-Za-z_$][\w$]*$/.test(text) ? namedSchema(text, source, depth) : {}
}

function unionSchema(choices: readonly string[], source: string, depth: number): JsonObject {
  const [only] = choices
  if (only === undefined) return {}
  if (choices.length === 1) return typescriptSchema(only, source, depth + 1)
  const literals = choices.map(literalOf)
  const [first] = literals
  if (literals.every((literal) => literal !== undefined && typeof literal === typeof first))
    return { type: typeof first as string, enum: literals as Json[] }
  return { anyOf: choices.map((choice) => typescriptSchema(choice, source, depth + 1)) }
}

function genericSchema(name: string, parts: readonly string[], source: string, depth: number): JsonObject {
  const inner = () => typescriptSchema(parts[0] ?? '', source, depth + 1)
  switch (name) {
    case 'Array':
    case 'ReadonlyArray':
    case 'Set':
      return { type: 'array', items: inner() }
    case 'Partial':
      return { ...inner(), required: [] }
    case 'Readonly':
    case 'Required':
      return inner()
    case 'Record':
    case 'Map':
      return { type: 'object' }
  }
  return {}
}

function objectSchema(body: string, source: string, depth: number): JsonObject {
  const properties: Record<string, JsonObject> = {}
  const required: string[] = []
  for (const line of splitLines(body)) {
    const [, quoted, bare, mark, type] =
      /^(?:readonly\s+)?(?:["']([^"']+)["']|([\w$]+))\s*(?:(\?)\s*)?:\s*([\s\S]*)$/.exec(line) ?? []
    const name = quoted ?? bare
    if (name === undefined) continue
    properties[name] = typescriptSchema(type!, source, depth + 1)
    if (!mark) required.push(name)
  }
  return { type: 'object', properties, required }
}

/** Fields end with a semicolon, a comma or, at the end of a type, a line. */
const splitLines = (body: string): string[] => split(body, ';,').flatMap((part) => joinContinued(split(part, '\n')))

/** A line that begins a field is one; others continue the one before. */
function joinContinued(lines: readonly string[]): string[] {
  const fields: string[][] = []
  for (const line of lines)
    if (fields.length === 0 || /^(?:readonly\s+)?["'\w$-]+\s*(?:\?\s*)?:/.test(line)) fields.push([line])
    else fields.at(-1)!.push(line)
  return fields.map((field) => field.join(' '))
}

function namedSchema(name: string, source: string, depth: number): JsonObject {
  const found = new RegExp(`\\b(?:interface\\s+${escaped(name)}\\b[^{;=]*\\{|type\\s+${escaped(name)}\\s*=)`).exec(
    source,
  )
  if (!found) return {}
  const start = found.index + found[0].length
  if (found[0].endsWith('{')) {
    const end = closingAt(source, start, TYPESCRIPT_BRACKETS)
    return end === undefined ? {} : objectSchema(source.slice(start, end), source, depth + 1)
  }
  return typescriptSchema(aliasAt(source, start), source, depth + 1)
}

/** Up to a semicolon, or to a line that begins something else. */
function aliasAt(source: string, start: number): string {
  const [first = ''] = splitOutside(source.slice(start, start + MAX_ALIAS), ';', TYPESCRIPT_BRACKETS)
  return first.split(/\n(?=[ \t]*(?:export|type|interface|function|async|const|let|import)\b)/)[0]!
}

const MAX_ALIAS = 20_000

const escaped = (name: string): string => name.replaceAll('$', '\\$')

function isWrapped(text: string, open: string): boolean {
  return text.startsWith(open) && closingAt(text, 1, TYPESCRIPT_BRACKETS) === text.length - 1
}

function literalOf(text: string): string | number | boolean | undefined {
  const quoted = /^(["'])([^"'\\]*)\1$/.exec(text)?.[2]
  if (quoted !== undefined) return quoted
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined
}
