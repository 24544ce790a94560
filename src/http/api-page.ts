import type { OpenApi, Operation, Parameter } from './openapi.ts'

/** The API for people: one page without scripts or anything from elsewhere. Details open with the keyboard, too. */
export function apiPage({ info, paths }: OpenApi): string {
  const groups = Object.groupBy(operationsIn(paths), ({ operation }) => operation.tags[0] ?? 'server')
  const names = Object.keys(groups).sort()
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
<a class="skip" href="#routes">To the routes</a>
<header>
<h1>${escaped(info.title)} <small>${escaped(info.version)}</small></h1>
<p>${escaped(info.description)}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a>. The lines below need the key of the server:
<code>export HOLDFAST_API_KEY=$(cat ~/.holdfast/api-key)</code></p>
<nav aria-label="Groups">${names.map((name) => `<a href="#${escaped(name)}">${escaped(name)}</a>`).join(' ')}</nav>
</header>
<main id="routes">
${names.map((name) => group(name, groups[name] ?? [])).join('\n')}
</main>
</body>
</html>
`
}

type Listed = { method: string; path: string; operation: Operation }

const operationsIn = (paths: OpenApi['paths']): Listed[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )

const group = (name: string, listed: readonly Listed[]): string => `<section aria-labelledby="${escaped(name)}">
<h2 id="${escaped(name)}">${escaped(name)}</h2>
${listed.map(route).join('\n')}
</section>`

function route({ method, path, operation }: Listed): string {
  const { operationId, summary, parameters, requestBody } = operation
  const schema = requestBody?.content['application/json'].schema
  const fields = schema ? fieldsOf(schema) : []
  return `<details id="${escaped(operationId)}">
<summary><b class="${method.toLowerCase()}">${method}</b> <code>${escaped(path)}</code> <span>${escaped(summary)}</span></summary>
${parameters.length > 0 ? table('Parameters', parameters.map(parameterRow)) : ''}
${fields.length > 0 ? table('Body', fields) : ''}
<pre tabindex="0">${escaped(curlOf({ method, path, operation }))}</pre>
</details>`
}

const table = (title: string, rows: readonly string[]): string =>
  `<table><caption>${title}</caption><tbody>${rows.join('')}</tbody></table>`

const row = (name: string, what: string, isRequired: boolean): string =>
  `<tr><th scope="row"><code>${escaped(name)}</code></th><td>${escaped(what)}${isRequired ? ', required' : ''}</td></tr>`

const parameterRow = ({ name, in: where, required, schema }: Parameter): string =>
  row(name, `${where}: ${typeText(schema)}`, required)

type Schema = Record<string, unknown>

function fieldsOf({ properties, required, allOf }: Schema): string[] {
  const names = (required ?? []) as string[]
  const own = Object.entries((properties ?? {}) as Record<string, Schema>)
  const inner = ((allOf ?? []) as Schema[]).flatMap(fieldsOf)
  return [...own.map(([name, schema]) => row(name, typeText(schema), names.includes(name))), ...inner]
}

/** A schema in a few words; the whole of it is in openapi.json. */
function typeText(schema: Schema): string {
  const either = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (either) return [...new Set(either.map(typeText))].filter((text) => text !== 'null').join(' or ')
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.type === 'array') return `list of ${typeText((schema.items ?? {}) as Schema)}`
  if (Array.isArray(schema.allOf)) return typeText((schema.allOf as Schema[])[0] ?? {})
  const types = [schema.type ?? 'anything'].flat().filter((one) => one !== 'null')
  const type = types.join(' or ')
  return 'default' in schema ? `${type}, usually ${JSON.stringify(schema.default)}` : type
}

function curlOf({ method, path, operation: { requestBody } }: Listed): string {
  const verb = method === 'GET' ? '' : ` -X ${method}`
  const body = requestBody ? ` \\\n  -H "Content-Type: application/json" -d '${exampleOf(path)}'` : ''
  return `curl -sN${verb} http://127.0.0.1:8283${path} \\\n  -H "Authorization: Bearer $HOLDFAST_API_KEY"${body}`
}

/** What a first try would say; the table says what else may be in it. */
const EXAMPLES: readonly (readonly [path: RegExp, body: string])[] = [
  [/\/v1\/holdfast\/.*messages$/, '{"text": "Hello"}'],
  [/\/messages(\/stream|\/async)?$/, '{"input": "Hello"}'],
  [/\/agents$/, '{"name": "ada", "model": "scripted/friendly"}'],
  [/\/blocks$/, '{"label": "human", "value": "Ada likes tea."}'],
  [/\/archival-memory$/, '{"text": "Ada likes tea."}'],
  [/\/stream$/, '{"starting_after": 0}'],
]

const exampleOf = (path: string): string => EXAMPLES.find(([pattern]) => pattern.test(path))?.[1] ?? '{}'

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
.skip { position: absolute; left: -99rem } .skip:focus { position: static }
`
