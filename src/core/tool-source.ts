import { defined } from './defined.ts'
import type { Json, JsonObject } from './json.ts'
import { closingAt, splitOutside } from './source-brackets.ts'

export type ParsedSource =
  | { type: 'read'; name: string; description: string; parameters: JsonObject }
  | { type: 'unreadable'; reason: string }

/**
 * Parses a Python tool: the wanted or the last top-level function is the tool, its annotations and docstring are the schema. This
 * handles simple signatures; tools with others must be created with an explicit schema.
 */
export function parsePythonSource(source: string, wanted?: string): ParsedSource {
  const all = [...source.matchAll(/^(?:async\s+)?def\s+([A-Za-z_]\w*)\s*\(/gm)]
  const found = all.findLast(([, name]) => name === wanted) ?? all.at(-1)
  if (!found) return unreadable('it has no top-level function (`def name(...):`)')
  const start = found.index + found[0].length
  const end = closingAt(source, start)
  if (end === undefined) return unreadable(`the parameter list of ${found[1]} is not closed`)
  const body = source.slice(end)
  const docstring = readDocstring(body)
  const described = describedArguments(docstring)
  const parameters = splitAtCommas(source.slice(start, end)).flatMap((text) => readParameter(text, described))
  const properties = Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]))
  const required = parameters.filter(({ isRequired }) => isRequired).map(({ name }) => name)
  return {
    type: 'read',
    name: found[1]!,
    description: docstring
      .split(/\n\s*\n|\n\s*Args:/)[0]!
      .replaceAll(/\s+/g, ' ')
      .trim(),
    parameters: { type: 'object', properties, required },
  }
}

const unreadable = (reason: string): ParsedSource => ({ type: 'unreadable', reason })

/** Without comments. */
const splitAtCommas = (text: string): string[] =>
  splitOutside(text, ',')
    .map((part) => part.replaceAll(/#.*$/gm, '').trim())
    .filter(Boolean)

type Parameter = { name: string; schema: JsonObject; isRequired: boolean }

/** Parameters that the server fills in, not the model. */
const SERVER_PARAMETERS = new Set(['self', 'agent_state', 'agent_id'])

function readParameter(text: string, described: Map<string, string>): Parameter[] {
  const equals = text.indexOf('=')
  const declared = equals < 0 ? text : text.slice(0, equals)
  const colon = declared.indexOf(':')
  const name = (colon < 0 ? declared : declared.slice(0, colon)).trim()
  const annotation = colon < 0 ? '' : declared.slice(colon + 1).trim()
  const isEmptyAnnotation = colon >= 0 && annotation === ''
  if (!/^[A-Za-z_]\w*$/.test(name) || isEmptyAnnotation || SERVER_PARAMETERS.has(name)) return []
  const description = described.get(name)
  const schema = { ...schemaOf(annotation, 0), ...defined({ description: description || undefined }) }
  return [{ name, schema, isRequired: equals < 0 }]
}

const PLAIN_TYPES: Record<string, JsonObject> = {
  str: { type: 'string' },
  int: { type: 'integer' },
  float: { type: 'number' },
  bool: { type: 'boolean' },
  list: { type: 'array', items: { type: 'string' } },
  dict: { type: 'object' },
  '': { type: 'string' },
}

/** `Optional[list[str]]` has three; deeper types are read as texts. */
const MAX_NESTING = 16

function schemaOf(annotation: string, depth: number): JsonObject {
  if (depth > MAX_NESTING) return { type: 'string' }
  const type = annotation.replace(/^["']|["']$/g, '').replace(/^typing\./, '')
  const plain = PLAIN_TYPES[type.toLowerCase()]
  if (plain) return plain
  const without = type
    .split('|')
    .map((part) => part.trim())
    .filter((part) => part !== 'None')
  if (type.includes('|') && !type.includes('[') && without.length === 1) return schemaOf(without[0]!, depth + 1)
  const generic = /^(\w+)\[([\s\S]*)\](?:\s*\|\s*None)?$/.exec(type)
  if (!generic) return { type: 'string' }
  const [, outer, inner] = generic
  const parts = splitAtCommas(inner!)
  switch (outer!.toLowerCase()) {
    case 'optional':
      return schemaOf(parts[0] ?? '', depth + 1)
    case 'list':
    case 'set':
    case 'tuple':
      return { type: 'array', items: schemaOf(parts[0] ?? '', depth + 1) }
    case 'literal':
      return { type: 'string', enum: parts.map((part): Json => part.replace(/^["']|["']$/g, '')) }
    case 'union':
      return schemaOf(parts.find((part) => part !== 'None') ?? '', depth + 1)
    case 'dict':
    case 'mapping':
      return { type: 'object' }
  }
  return { type: 'string' }
}

function readDocstring(afterParameters: string): string {
  const end = afterParameters.indexOf('\n')
  if (end < 0 || !afterParameters.slice(0, end).trimEnd().endsWith(':')) return ''
  return /^[rR]?("""|''')([\s\S]*?)\1/.exec(afterParameters.slice(end).trimStart())?.[2]?.trim() ?? ''
}

/** The lines `name (type): what it is` under `Args:`. */
function describedArguments(docstring: string): Map<string, string> {
  const found = new Map<string, string>()
  const lines = docstring.split('\n').map((line) => line.trim())
  const start = lines.findIndex((line) => /(^|\W)Args:$/.test(line.slice(-6)))
  if (start < 0) return found
  for (const [index, line] of lines.entries()) {
    if (index <= start) continue
    if (/^(?:Returns|Raises|Yields|Examples?):/.test(line)) break
    const name = /^\w+/.exec(line)?.[0] ?? ''
    const rest = line.slice(name.length).trimStart()
    const afterType = rest.startsWith('(') ? rest.slice(rest.indexOf(')') + 1).trimStart() : rest
    if (name === '' || !afterType.startsWith(':')) continue
    const text = afterType.slice(1).trim() || lines[index + 1]
    if (text) found.set(name, text)
  }
  return found
}
