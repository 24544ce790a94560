import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { configJsonSchema } from '../src/config/config-schema.ts'
import { type NamedSection, SECTIONS } from '../src/config/sections.ts'
import { variableName } from '../src/config/variables.ts'
import { flowNames } from '../src/providers/credentials/oauth-flows.ts'
import { VENDORS, type Vendor } from '../src/providers/vendors.ts'
import { withCommands, withTables } from '../write-docs.ts'

const page = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
const code = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ')

const rowOf = ({ name, label, dialect, baseUrl, keyVariables, baseUrlVariable }: Vendor): string =>
  `| ${code([name])} | ${label} | ${dialect} | ${baseUrl ?? 'none'} | ${code(keyVariables) || 'a login'} | ${code([baseUrlVariable])} |`

test('the documented table of vendors matches the program', () => {
  const [, section = ''] = page('docs/providers.md').split('## Vendors\n')
  const rows = section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  assert.deepEqual(rows, VENDORS.map(rowOf))
})

test('every login is documented', () => {
  const text = page('docs/providers.md')
  for (const name of flowNames) assert.ok(text.includes(`| \`${name}\` |`), name)
  assert.match(text, /None of these was ever tried against its vendor/)
})

test('every key of config.yaml and every variable of the settings is documented', () => {
  const text = page('docs/configuration.md')
  for (const key of keysOf(configJsonSchema() as Schema)) assert.ok(text.includes(`| \`${key}\` |`), key)
  const variables = Object.values(SECTIONS).flatMap((named: NamedSection) =>
    Object.keys(named.section).flatMap((key) => variableName(named, key) ?? []),
  )
  for (const variable of variables) assert.ok(text.includes(`| \`${variable}\` |`), variable)
})

test('the documented tables of settings match the program; `npm run docs` writes them', () => {
  assert.equal(page('docs/configuration.md'), withTables(page('docs/configuration.md')))
  assert.equal(page('docs/commands.md'), withCommands(page('docs/commands.md')))
})

test('the published schema matches the one that validates config.yaml; `npm run docs` writes it', () => {
  assert.deepEqual(JSON.parse(page('docs/config.schema.json')), configJsonSchema())
})

test('the defaults in the tables of the documentation match the program', () => {
  const pages = ['README.md', 'docs/operations.md', 'docs/workspaces.md'].map(page).join('\n')
  const cells = pages.matchAll(/\| `([A-Z_]+|(?:limits|workspaces)\.[a-z_]+)` +\| `?([^`| ]+)/g)
  const documented = new Map([...cells].map(([, name, value]) => [name, value]))
  assert.ok(documented.size > 0)
  for (const named of Object.values<NamedSection>(SECTIONS))
    for (const [key, { default: value, defaultText }] of Object.entries(named.section))
      for (const name of [variableName(named, key), [...named.path, key].join('.')])
        if (defaultText === undefined && value !== undefined && documented.has(name))
          assert.equal(documented.get(name), String(value), name)
})

test('every environment variable that the program reads by name is a declared setting', () => {
  const declared = new Set(
    Object.values(SECTIONS).flatMap((named: NamedSection) =>
      Object.keys(named.section).map((key) => variableName(named, key)),
    ),
  )
  for (const file of globSync('src/**/*.ts').filter((name) => !name.endsWith('.test.ts')))
    for (const [, variable = ''] of page(file).matchAll(/environment\.((?:HOLDFAST|DATABASE)_[A-Z_]+)/g))
      assert.ok(declared.has(variable), `${file}: ${variable}`)
})

test('every relative link of the documentation leads to a file', () => {
  for (const name of globSync(['*.md', 'docs/*.md', 'decisions/*.md', 'examples/*.md']))
    for (const [, target = ''] of page(name).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      const url = new URL(target, new URL(`../${name}`, import.meta.url))
      assert.ok(existsSync(fileURLToPath(url)), `${name}: ${target}`)
    }
})

type Schema = { properties?: Record<string, Schema>; additionalProperties?: Schema | boolean; type?: string | string[] }

/** Dotted, with `<name>` where the operator chooses the key. */
function keysOf(schema: Schema, path = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const here = path + key
    const each = typeof inner.additionalProperties === 'object' ? inner.additionalProperties : undefined
    if (each?.properties) return [`${here}.<name>`, ...keysOf(each, `${here}.<name>.`)]
    return inner.properties ? keysOf(inner, `${here}.`) : [here]
  })
}
