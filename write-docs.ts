import { readFileSync, writeFileSync } from 'node:fs'
import { commandPage } from './src/cli/command-page.ts'
import { configJsonSchema } from './src/config/config-schema.ts'
import { type NamedSection, SECTIONS } from './src/config/sections.ts'
import type { Setting } from './src/config/setting.ts'
import { variableName } from './src/config/variables.ts'

const PAGE = new URL('docs/configuration.md', import.meta.url)
const COMMANDS = new URL('docs/commands.md', import.meta.url)
const SCHEMA = new URL('docs/config.schema.json', import.meta.url)

/** Writes what follows from the declaration of the settings: the tables of docs/configuration.md and the JSON Schema; and docs/commands.md. */
if (import.meta.main) {
  writeFileSync(PAGE, withTables(readFileSync(PAGE, 'utf8')))
  writeFileSync(COMMANDS, withCommands(readFileSync(COMMANDS, 'utf8')))
  writeFileSync(SCHEMA, JSON.stringify(configJsonSchema(), null, 2))
}

/** The page with every command as the tree declares it. */
export function withCommands(page: string): string {
  return page.replace(
    /(<!-- commands -->\n).*?(<!-- end -->)/s,
    (_, start, end) => `${start}\n${commandPage()}\n${end}`,
  )
}

/** The page with each table between `<!-- settings: … -->` and `<!-- end -->` as the declaration has it. */
export function withTables(page: string): string {
  return page.replaceAll(/(<!-- settings: ([a-z ]+) -->\n).*?(<!-- end -->)/gs, (_, start, names: string, end) => {
    const sections = names.split(' ').map((name) => SECTIONS[name as keyof typeof SECTIONS])
    return `${start}\n${tableOf(sections)}\n\n${end}`
  })
}

function tableOf(sections: NamedSection[]): string {
  const hasKeys = sections.every(({ path }) => !isOnlyInEnvironment(path))
  const head = [...(hasKeys ? ['key'] : []), 'variable', 'what it says', 'values', 'default']
  const rows = [head, head.map(() => '---'), ...sections.flatMap((named) => rowsOf(named, hasKeys))]
  return rows.map((cells) => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |')).join('\n')
}

function rowsOf(named: NamedSection, hasKeys: boolean): string[][] {
  const { section, path, description } = named
  const key = (...steps: string[]) => (hasKeys ? [code([...path, ...steps].join('.'))] : [])
  const rows = Object.entries(section).map(([name, setting]) => [
    ...key(name),
    code(variableName(named, name) ?? ''),
    setting.description,
    setting.unit ? `${setting.kind.expected}, in ${setting.unit}` : setting.kind.expected,
    defaultOf(setting),
  ])
  return path.at(-1)?.startsWith('<') ? [[...key(), '', description, 'a mapping', ''], ...rows] : rows
}

function isOnlyInEnvironment([first]: readonly string[]): boolean {
  return first === 'command' || first === 'process'
}

function defaultOf({ default: value, defaultText }: Setting): string {
  if (defaultText !== undefined) return defaultText
  return value === undefined ? 'none' : code(String(value))
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``
}
