import { defined } from '../core/defined.ts'
import type { DescribedOperation, JsonSchema, OpenApi, Parameter } from './openapi.ts'

/** The API page: no scripts, no external resources, usable with the keyboard. */
export function apiPage({ info, paths, components }: OpenApi, address: string): string {
  const groups = Object.groupBy(operationsIn(paths), ({ operation }) => operation.tags[0] ?? 'server')
  const names = Object.keys(groups).sort()
  const schemas = Object.entries(components.schemas).sort(([one], [other]) => (one < other ? -1 : 1))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(info.title)} ${escaped(info.version)}: API</title>
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#routes">Skip to the routes</a>
<header>
<h1>${escaped(info.title)} <small>${escaped(info.version)}</small></h1>
<p>${escaped(info.description)}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a>.</p>
${firstAgent(address)}
<nav aria-label="Groups">${names.map((name) => `<a href="#${escaped(name)}">${escaped(name)}</a>`).join(' ')}
<a href="#schemas">schemas</a></nav>
</header>
<main id="routes">
${names.map((name) => group(name, groups[name] ?? [], address)).join('\n')}
<section aria-labelledby="schemas">
<h2 id="schemas">schemas</h2>
${schemas.map(([name, schema]) => schemaDetails(name, schema)).join('\n')}
</section>
</main>
</body>
</html>
`
}

/** Shell commands that create a first agent and send it a message. */
const firstAgent = (address: string): string => `<h2>A first agent</h2>
<p>The examples need the API key of the server. These lines create an agent and send it a message:</p>
<pre tabindex="0">${escaped(`export HOLDFAST_API_KEY=$(cat ~/.holdfast/api-key)
agent=$(curl -s ${address}/v1/agents \\
  -H "Authorization: Bearer $HOLDFAST_API_KEY" -H "Content-Type: application/json" \\
  -d '{"name": "ada", "model": "scripted/friendly"}' | grep -o 'agent-[0-9a-f-]*' | head -1)
curl -s ${address}/v1/agents/$agent/messages \\
  -H "Authorization: Bearer $HOLDFAST_API_KEY" -H "Content-Type: application/json" \\
  -d '{"input": "Hello"}'`)}</pre>`

type Listed = { method: string; path: string; operation: DescribedOperation }

const operationsIn = (paths: OpenApi['paths']): Listed[] =>
  Object.entries(paths)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    )

const group = (name: string, listed: readonly Listed[], address: string): string =>
  `<section aria-labelledby="${escaped(name)}">
<h2 id="${escaped(name)}">${escaped(name)}</h2>
${listed.map((one) => route(one, address)).join('\n')}
</section>`

function route({ method, path, operation }: Listed, address: string): string {
  const { operationId, summary, parameters, requestBody } = operation
  const [type, body] = Object.entries(requestBody?.content ?? {})[0] ?? []
  return `<details id="${escaped(operationId)}">
<summary><b class="${method.toLowerCase()}">${method}</b> <code>${escaped(path)}</code> <span>${prose(summary)}</span></summary>
${parameters.length > 0 ? table('Parameters', parameters.map(parameterRow)) : ''}
${body ? table(`Body${type === 'application/json' ? '' : ` (${type})`}`, rowsOf(body.schema)) : ''}
${responseTable(operation)}
<pre tabindex="0">${escaped(curlOf({ method, path, operation }, address))}</pre>
</details>`
}

function responseTable({ responses }: DescribedOperation): string {
  const answer = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  const [type, content] = Object.entries(answer?.content ?? {})[0] ?? []
  if (!content) return ''
  const title = type === 'application/json' ? 'Response' : `Response (${type})`
  const rows = rowsOf(content.schema)
  return rows.length > 0
    ? table(title, rows)
    : `<p>${title}: ${typeText(content.schema)}${describe(content.schema)}</p>`
}

function schemaDetails(name: string, schema: JsonSchema): string {
  const rows = rowsOf(schema)
  return `<details id="schema-${escaped(name)}">
<summary><code>${escaped(name)}</code> <span>${prose(String(schema.description ?? ''))}</span></summary>
${rows.length > 0 ? table('Fields', rows) : `<p>${typeText(schema)}</p>`}
</details>`
}

const table = (title: string, rows: readonly string[]): string =>
  `<table><caption>${escaped(title)}</caption><tbody>${rows.join('')}</tbody></table>`

const parameterRow = ({ name, in: where, required, schema, description }: Parameter): string =>
  row(name, { ...schema, ...defined({ description: description || undefined }) }, { isRequired: required, note: where })

type RowNotes = { isRequired: boolean; note?: string }

/** A field: its type, its description and its nested fields. */
function row(name: string, schema: JsonSchema, { isRequired, note }: RowNotes): string {
  const words = [...(note ? [note] : []), typeText(schema), ...(isRequired ? ['required'] : [])].join(', ')
  const inner = innerObject(schema)
  const nested = inner ? `<table><tbody>${rowsOf(inner).join('')}</tbody></table>` : ''
  return `<tr><th scope="row"><code>${escaped(name)}</code></th><td>${words}${describe(schema)}${nested}</td></tr>`
}

const describe = ({ description }: JsonSchema): string =>
  typeof description === 'string' ? `<p>${prose(description)}</p>` : ''

/** Escapes text and renders text in backticks as code. */
const prose = (text: string): string => escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')

function rowsOf(schema: JsonSchema): string[] {
  const { properties, required, allOf } = schema
  const names = (required ?? []) as string[]
  const own = Object.entries((properties ?? {}) as Record<string, JsonSchema>)
  const inherited = ((allOf ?? []) as JsonSchema[]).flatMap(rowsOf)
  return [...own.map(([name, field]) => row(name, field, { isRequired: names.includes(name) })), ...inherited]
}

/**
 * The object whose fields are listed under a field: the field itself, the items of its list, or the only object of a
 * union.
 */
function innerObject(schema: JsonSchema): JsonSchema | undefined {
  if (schema.properties || schema.allOf) return schema
  if (schema.type === 'array') return innerObject((schema.items ?? {}) as JsonSchema)
  const objects = choicesOf(schema)
    .map(innerObject)
    .filter((one) => one !== undefined)
  return objects.length === 1 ? objects[0] : undefined
}

const choicesOf = ({ anyOf, oneOf }: JsonSchema): JsonSchema[] => (anyOf ?? oneOf ?? []) as JsonSchema[]

/** The type of a schema as short HTML; openapi.json has the whole schema. */
function typeText(schema: JsonSchema): string {
  const type = plainType(schema)
  return 'default' in schema ? `${type}, default <code>${escaped(JSON.stringify(schema.default))}</code>` : type
}

function plainType(schema: JsonSchema): string {
  if (typeof schema.$ref === 'string') return schemaLink(schema.$ref)
  const choices = choicesOf(schema)
  if (choices.length > 0) return [...new Set(choices.map(plainType))].join(' or ')
  if (Array.isArray(schema.enum)) return schema.enum.map(literal).join(' | ')
  if ('const' in schema) return literal(schema.const)
  if (schema.type === 'array') return `list of ${plainType((schema.items ?? {}) as JsonSchema)}`
  if (Array.isArray(schema.allOf)) return plainType((schema.allOf as JsonSchema[])[0] ?? {})
  const values = schema.additionalProperties as JsonSchema | undefined
  if (values && !schema.properties && Object.keys(values).length > 0) return `object of ${plainType(values)}`
  return escaped([schema.type ?? 'any JSON'].flat().join(' or '))
}

const literal = (value: unknown): string => `<code>${escaped(JSON.stringify(value))}</code>`

function schemaLink(reference: string): string {
  const name = reference.slice(reference.lastIndexOf('/') + 1)
  return `<a href="#schema-${escaped(name)}">${escaped(name)}</a>`
}

function curlOf({ method, path, operation: { requestBody } }: Listed, address: string): string {
  const verb = method === 'GET' ? '' : ` -X ${method}`
  return `curl -sN${verb} ${address}${path} \\\n  -H "Authorization: Bearer $HOLDFAST_API_KEY"${bodyFlags(requestBody)}`
}

function bodyFlags(requestBody: DescribedOperation['requestBody']): string {
  const [type, body] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (!body) return ''
  if (type !== 'application/json') return ' \\\n  -F file=@agent.af'
  return ` \\\n  -H "Content-Type: application/json" -d '${JSON.stringify(body.example ?? {}).replaceAll("'", "'\\''")}'`
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)

const STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1b2530, #dfe6ec); --paper: light-dark(#fdfdfb, #12171c);
  --line: light-dark(#d5d9dc, #313a43); --quiet: light-dark(#55616d, #98a5b1); --link: light-dark(#0b5cad, #7cb8f5) }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem;
  margin: 0 auto; padding: 1.5rem }
a { color: var(--link) } nav a { margin-right: .75rem; white-space: nowrap }
h1 small, summary span, caption { color: var(--quiet); font-weight: normal }
h2 { margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line) }
code, pre { font: 14px/1.5 ui-monospace, monospace }
pre { overflow-x: auto; padding: .75rem; border: 1px solid var(--line); border-radius: 6px }
details { border-bottom: 1px solid var(--line); padding: .4rem 0 }
summary { cursor: pointer } summary b { display: inline-block; min-width: 4.5rem; font-size: .8rem }
table { border-collapse: collapse; margin: .5rem 0; width: 100% } caption { text-align: left; padding: .25rem 0 }
th, td { text-align: left; vertical-align: top; padding: .2rem .75rem .2rem 0; border-top: 1px solid var(--line) }
th { font-weight: normal; width: 16rem } td { overflow-wrap: anywhere }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px }
td table { margin: .25rem 0 .5rem } td p { margin: 0; color: var(--quiet) }
.skip { position: absolute; left: -99rem } .skip:focus { position: static }
`
