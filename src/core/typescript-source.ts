import { defined } from './defined.ts'
import type { JsonObject } from './json.ts'
import { closingAt, endOfQuote, splitOutside, TYPESCRIPT_BRACKETS } from './source-brackets.ts'
import type { ParsedSource } from './tool-source.ts'
import { typescriptSchema } from './typescript-schema.ts'

const split = (text: string, signs: string): string[] => splitOutside(text, signs, TYPESCRIPT_BRACKETS)

/**
 * Parses a TypeScript or JavaScript tool: the last exported function is the tool, its types and its JSDoc comment are the
 * schema.
 */
export function parseTypescriptSource(source: string, wanted?: string): ParsedSource {
  const found = (wanted === undefined ? undefined : findFunction(source, wanted)) ?? findFunction(source)
  if (!found) return { type: 'unreadable', reason: 'it exports no function (`export function name(...)`)' }
  const { name, comment, parameters, bare } = found
  if (!parameters) return { type: 'unreadable', reason: `the parameter list of ${name} is not closed` }
  const { text, described } = readComment(comment)
  const fields = parameters.flatMap((one) => readParameter(one, bare, described))
  return {
    type: 'read',
    name,
    description: text,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(fields.map((field) => [field.name, field.schema])),
      required: fields.filter(({ isRequired }) => isRequired).map((field) => field.name),
    },
  }
}

/**
 * The parameters of the function with this name, in order. `object`: it takes one object with all arguments. Undefined if
 * it cannot be found.
 */
export function positionalParameters(source: string, wanted: string): string[] | 'object' | undefined {
  const parameters = findFunction(source, wanted)?.parameters
  if (!parameters) return undefined
  const [first] = parameters
  if (parameters.length === 1 && first!.startsWith('{')) return 'object'
  return parameters.map((one) => nameOf(one).name)
}

/** `bare`: the source without its comments. */
type FoundFunction = { name: string; comment: string; parameters: string[] | undefined; bare: string }

const FUNCTION = /^[ \t]*(export[ \t]+)?(?:default[ \t]+)?(?:async[ \t]+)?function[ \t]+([A-Za-z_$][\w$]*)/gm
const ARROW = /^[ \t]*(export[ \t]+)?(?:const|let)[ \t]+([A-Za-z_$][\w$]*)[ \t]*=[ \t]*(?:async[ \t]*)?(?=[(<])/gm

function findFunction(source: string, wanted?: string): FoundFunction | undefined {
  const bare = withoutComments(source)
  const all = [...bare.matchAll(FUNCTION), ...bare.matchAll(ARROW)]
    .filter(([, exported, name]) => (wanted === undefined ? exported !== undefined : name === wanted))
    .sort((one, other) => one.index - other.index)
  const found = all.at(-1)
  if (!found) return undefined
  let start = found.index + found[0].length
  // Type parameters.
  if (bare[start] === '<') start = (closingAt(bare, start + 1, TYPESCRIPT_BRACKETS) ?? bare.length) + 1
  const open = bare.indexOf('(', start)
  const end = open < 0 ? undefined : closingAt(bare, open + 1, TYPESCRIPT_BRACKETS)
  const before = source.slice(0, found.index).trimEnd()
  const comment = before.endsWith('*/') ? before.slice(before.lastIndexOf('/**')) : ''
  const parameters = end === undefined ? undefined : split(bare.slice(open + 1, end), ',')
  return { name: found[2]!, comment, parameters, bare }
}

/** Comments become spaces, so that every other position stays. */
function withoutComments(source: string): string {
  const pieces: string[] = []
  let from = 0
  for (let at = 0; at < source.length; at++) {
    const sign = source[at]!
    if (sign === '"' || sign === "'" || sign === '`') at = endOfQuote(source, at)
    if (sign !== '/' || (source[at + 1] !== '/' && source[at + 1] !== '*')) continue
    const [mark, length] = source[at + 1] === '/' ? ['\n', 0] : ['*/', 2]
    const found = source.indexOf(mark, at + 2)
    const end = found < 0 ? source.length : found + length
    pieces.push(source.slice(from, at), source.slice(at, end).replaceAll(/[^\n]/g, ' '))
    from = end
    at = end - 1
  }
  return [...pieces, source.slice(from)].join('')
}

type Field = { name: string; schema: JsonObject; isRequired: boolean }

/** `name?: type = value`; a parameter that is taken apart stands for the fields of its type. */
function readParameter(text: string, bare: string, described: ReadonlyMap<string, string>): Field[] {
  const { name, type, isOptional } = nameOf(text)
  const schema = typescriptSchema(type, bare)
  const isPattern = name.startsWith('{')
  const properties = schema.properties as Record<string, JsonObject> | undefined
  if (isPattern && properties) {
    const required = (schema.required ?? []) as string[]
    return Object.entries(properties).map(([field, inner]) => ({
      name: field,
      schema: { ...inner, ...defined({ description: described.get(field) }) },
      isRequired: required.includes(field),
    }))
  }
  if (isPattern) return split(name.slice(1, -1), ',').flatMap((one) => readParameter(one, bare, described))
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return []
  return [{ name, schema: { ...schema, ...defined({ description: described.get(name) }) }, isRequired: !isOptional }]
}

function nameOf(text: string): { name: string; type: string; isOptional: boolean } {
  const [declared = '', value] = splitFirst(text, '=')
  const [name = '', type = ''] = splitFirst(declared, ':')
  const isOptional = value !== undefined || name.endsWith('?')
  return { name: name.replace(/\?$/, '').trim(), type, isOptional }
}

/** At the first sign outside of brackets; `=>` is no `=`. */
function splitFirst(text: string, sign: string): [string, string?] {
  const [first = '', ...rest] = split(text.replaceAll('=>', '\u0001'), sign)
  if (rest.length === 0) return [first.replaceAll('\u0001', '=>')]
  return [first.replaceAll('\u0001', '=>'), text.slice(text.indexOf(sign, first.length) + 1).trim()]
}

/** The text of a JSDoc comment, and its `@param name text` lines. */
function readComment(comment: string): { text: string; described: Map<string, string> } {
  const lines = comment
    .replace(/^\/\*\*/, '')
    .replace(/\*\/$/, '')
    .split('\n')
    .map((line) =>
      line
        .trim()
        .replace(/^\*\s?/, '')
        .trim(),
    )
  const described = new Map<string, string>()
  const text: string[] = []
  let isText = true
  for (const line of lines) {
    if (line.startsWith('@')) isText = false
    if (isText) text.push(line)
    const [, name, words] = /^@param\s+(?:\{[^}]*\}\s+)?\[?([\w$]+)\]?\s*-?\s*(.*)$/.exec(line) ?? []
    if (name && words) described.set(name, words)
  }
  return { text: text.join(' ').replaceAll(/\s+/g, ' ').trim(), described }
}
