import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const SOURCE = fileURLToPath(new URL('../src', import.meta.url))
const MAX_LINES = 400
const FORBIDDEN_NAMES = /(^|[-/])(utils?|helpers?|manager|base|index|types)\.ts$/

type Doors = {
  /** Rooms it may import from. */
  rooms: string[]
  /** npm packages it may import; `node:` means Node's own modules. */
  packages: string[]
  /** npm packages of which it may know the types: nothing of them is there when it runs. */
  types?: string[]
}

/** The architecture, as a table. A room that is missing here may import nothing. */
const DOORS: Record<string, Doors> = {
  core: { rooms: [], packages: [] },
  ports: { rooms: ['core'], packages: [] },
  engine: { rooms: ['core', 'ports'], packages: [] },
  providers: {
    rooms: ['core', 'ports'],
    packages: ['node:', 'undici', 'eventsource-parser', 'sharp'],
    types: ['openai', '@anthropic-ai/sdk', '@google/genai', '@ai-sdk/provider'],
  },
  net: { rooms: ['core', 'ports'], packages: ['node:', 'undici'] },
  storage: { rooms: ['core', 'ports'], packages: ['node:', 'kysely', 'pg'] },
  live: { rooms: ['core', 'ports'], packages: [] },
  tools: { rooms: ['core', 'ports'], packages: ['node:', '@cfworker/json-schema', '@modelcontextprotocol/sdk'] },
  workspaces: { rooms: ['core', 'ports'], packages: ['node:'] },
  config: { rooms: ['core', 'ports'], packages: ['node:', 'yaml', '@cfworker/json-schema'] },
  simulator: { rooms: ['core'], packages: ['node:'] },
  service: { rooms: ['core', 'ports', 'engine'], packages: [] },
  http: {
    rooms: ['core', 'ports', 'service'],
    packages: ['node:', 'fastify', 'fastify-type-provider-zod', 'zod', 'prom-client'],
    types: ['@letta-ai/letta-client'],
  },
  cli: { rooms: ['core', 'ports', 'service'], packages: ['node:', 'commander'] },
  'app.ts': {
    rooms: [
      ...['core', 'ports', 'engine', 'providers', 'net', 'storage', 'live', 'tools', 'workspaces', 'config', 'service'],
    ],
    packages: ['node:'],
  },
  'embedded.ts': { rooms: ['app.ts', 'service'], packages: [] },
  'ai-sdk.ts': { rooms: ['ports', 'providers'], packages: [] },
  'command.ts': { rooms: ['app.ts', 'cli', 'simulator', 'http'], packages: ['node:'] },
  'main.ts': { rooms: ['command.ts'], packages: ['node:'] },
}

/** Clock and chance are ports: the simulator must be able to run these rooms on a virtual clock. */
const PURE_ROOMS = ['core', 'engine', 'live', 'service']
const CLOCK_OR_CHANCE =
  /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\b(setTimeout|setInterval|setImmediate|queueMicrotask)\b|\brandomUUID\b|\bperformance\.now\b/

test('every file stays in its room', () => {
  const faults = sources().flatMap((file) => faultsOf(file, readFileSync(join(SOURCE, file), 'utf8')))
  assert.deepEqual(faults, [])
})

test('a bad import, a long file, a forbidden name and a bare clock are each seen', () => {
  const engine = "import { x } from '../storage/events.ts'\nimport fs from 'node:fs'\nawait import('../cli/run-cli.ts')"
  assert.equal(faultsOf('engine/bad.ts', engine).length, 3)
  assert.equal(faultsOf('core/long.ts', '\n'.repeat(MAX_LINES + 1)).length, 1)
  assert.equal(faultsOf('core/string-utils.ts', '').length, 1)
  assert.equal(faultsOf('engine/late.ts', 'setTimeout(() => {}, 10)').length, 1)
  assert.equal(faultsOf('providers/a.ts', "import type { A } from 'openai'").length, 0)
  assert.equal(faultsOf('providers/b.ts', "import type { A } from 'openai'\nimport { B } from 'openai'").length, 2)
  assert.equal(faultsOf('attic/any.ts', "import '../core/run.ts'").length, 1)
})

function faultsOf(file: string, text: string): string[] {
  const room = file.split('/')[0]!
  const doors = DOORS[room] ?? { rooms: [], packages: [] }
  const faults: string[] = []
  if (text.split('\n').length > MAX_LINES) faults.push(`${file} is over ${MAX_LINES} lines: it is two ideas`)
  if (FORBIDDEN_NAMES.test(file)) faults.push(`${file} has a name that says nothing`)
  if (PURE_ROOMS.includes(room) && CLOCK_OR_CHANCE.test(text))
    faults.push(`${file} touches the clock or chance directly`)
  const typesOnly = typeImportsOf(text)
  for (const target of importsOf(text)) {
    if (target.startsWith('.')) {
      const other = relative('.', join(dirname(file), target)).split('/')[0]!
      if (other !== room && !doors.rooms.includes(other)) faults.push(`${room} may not import ${other} (${file})`)
    } else {
      const name = target.startsWith('node:') || builtinModules.includes(target) ? 'node:' : packageName(target)
      const isType = typesOnly.has(target) && doors.types?.includes(name)
      if (!doors.packages.includes(name) && !isType) faults.push(`${room} may not import ${target} (${file})`)
    }
  }
  return faults
}

function importsOf(text: string): string[] {
  const patterns = [/\bfrom\s+'([^']+)'/g, /^import\s+'([^']+)'/gm, /\bimport\(\s*'([^']+)'\s*\)/g]
  return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1]!))
}

/** Packages of which only types are imported, in every import of this file. */
function typeImportsOf(text: string): Set<string> {
  const types = [...text.matchAll(/\bimport\s+type\s[^']*?\bfrom\s+'([^']+)'/g)].map((match) => match[1]!)
  const all = importsOf(text)
  const count = (list: string[], name: string) => list.filter((one) => one === name).length
  return new Set(types.filter((name) => count(types, name) === count(all, name)))
}

const packageName = (target: string): string =>
  target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')

function sources(): string[] {
  const all = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  return all.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
}
