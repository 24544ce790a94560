import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { CONFIG_SCHEMA } from '../src/config/config-schema.ts'
import { flowNames } from '../src/providers/credentials/oauth-flows.ts'
import { VENDORS, type Vendor } from '../src/providers/vendors.ts'

const page = (name: string): string => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
const code = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ')

const rowOf = ({ name, label, dialect, baseUrl, keyVariables, baseUrlVariable }: Vendor): string =>
  `| ${code([name])} | ${label} | ${dialect} | ${baseUrl ?? 'none'} | ${code(keyVariables)} | ${code([baseUrlVariable])} |`

test('the table of vendors is the one the program has', () => {
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
  for (const key of keysOf(CONFIG_SCHEMA as Schema)) assert.ok(text.includes(`| \`${key}\` |`), key)
  const variables = page('src/config/settings.ts').match(/'?(HOLDFAST_[A-Z_]+|DATABASE_URL)'?/g) ?? []
  for (const variable of variables) assert.ok(text.includes(variable.replaceAll("'", '')), variable)
})

test('every relative link of the documentation leads somewhere', () => {
  for (const name of globSync(['*.md', 'docs/*.md', 'decisions/*.md', 'examples/*.md']))
    for (const [, target = ''] of page(name).matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      const url = new URL(target, new URL(`../${name}`, import.meta.url))
      assert.ok(existsSync(fileURLToPath(url)), `${name}: ${target}`)
    }
})

type Schema = { properties?: Record<string, Schema>; additionalProperties?: Schema | boolean; type?: string | string[] }

/** Dotted, with `<name>` where people choose the key. */
function keysOf(schema: Schema, path = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const here = path + key
    const each = typeof inner.additionalProperties === 'object' ? inner.additionalProperties : undefined
    if (each?.properties) return [`${here}.<name>`, ...keysOf(each, `${here}.<name>.`)]
    return inner.properties ? keysOf(inner, `${here}.`) : [here]
  })
}
