import assert from 'node:assert/strict'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { PLATFORM_NAMES } from '../src/core/gateway/platforms.ts'

const SOURCE = fileURLToPath(new URL('../src', import.meta.url))
const MAX_LINES = 400
const FORBIDDEN_NAMES = /(^|[-/])(utils?|helpers?|manager|base|index|types)\.ts$/

type Doors = {
  /** Rooms that it may import from. */
  rooms: string[]
  /** npm packages that it may import; `node:` means the modules of Node.js. */
  packages: string[]
  /** npm packages of which it may import types only: they are not loaded at run time. */
  types?: string[]
}

/** The architecture as a table. A room that is not listed may import nothing. */
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
  disk: { rooms: [], packages: ['node:'] },
  backup: { rooms: ['core', 'ports', 'disk'], packages: ['node:'] },
  runtime: { rooms: [], packages: [] },
  telemetry: { rooms: ['core', 'ports'], packages: [] },
  watchdog: { rooms: ['core', 'ports', 'disk'], packages: ['node:'] },
  storage: { rooms: ['core', 'ports', 'disk'], packages: ['node:', 'kysely', 'pg'] },
  live: { rooms: ['core', 'ports'], packages: [] },
  tools: {
    rooms: ['core', 'ports', 'disk'],
    packages: ['node:', '@modelcontextprotocol/sdk', 'htmlparser2', 'unpdf'],
  },
  workspaces: { rooms: ['core', 'ports', 'disk'], packages: ['node:'] },
  config: { rooms: ['core', 'ports', 'disk'], packages: ['node:', 'yaml', 'zod'] },
  simulator: { rooms: ['core'], packages: ['node:', 'zod', 'ws'] },
  service: { rooms: ['core', 'ports', 'engine'], packages: [] },
  jobs: { rooms: ['core', 'ports', 'service'], packages: [] },
  gateway: {
    rooms: ['core', 'ports', 'service'],
    packages: ['node:', 'grammy', '@slack/web-api', '@slack/socket-mode', '@discordjs/rest', '@discordjs/ws'],
  },
  http: {
    rooms: ['core', 'ports', 'service', 'disk'],
    packages: ['node:', 'fastify', 'zod', 'prom-client'],
    types: ['@letta-ai/letta-client'],
  },
  cli: { rooms: ['core', 'ports', 'service', 'disk'], packages: ['node:', 'commander', 'eventsource-parser'] },
  'app.ts': {
    rooms: [
      'core',
      'disk',
      'ports',
      'engine',
      'providers',
      'net',
      'storage',
      'live',
      'tools',
      'workspaces',
      'backup',
      'watchdog',
      'config',
      'service',
      'jobs',
      'compose-gateway.ts',
      'compose-telemetry.ts',
      // The wire format of webhooks.
      'http',
    ],
    packages: ['node:'],
  },
  'compose-gateway.ts': { rooms: ['config', 'core', 'ports', 'gateway', 'providers', 'service'], packages: [] },
  'compose-telemetry.ts': { rooms: ['config', 'engine', 'net', 'ports', 'telemetry'], packages: [] },
  embedding: { rooms: ['core', 'ports', 'service'], packages: [] },
  'embedded.ts': { rooms: ['app.ts', 'core', 'ports', 'embedding', 'tools', 'http'], packages: ['node:'] },
  'ai-sdk.ts': { rooms: ['ports', 'providers'], packages: [] },
  'command.ts': { rooms: ['app.ts', 'compose-gateway.ts', 'cli', 'simulator', 'http'], packages: ['node:'] },
  'main.ts': { rooms: ['command.ts', 'runtime'], packages: ['node:'] },
}

/**
 * Folders inside a room, and the other folders of the room that each may import. A folder that is not listed may import
 * none; files at the top of the room assemble it and may import all.
 */
const SUB_DOORS: Record<string, Record<string, string[]>> = {
  storage: {
    rows: [],
    database: ['rows'],
    migrations: ['database'],
    people: ['database', 'rows'],
    changes: ['database', 'rows'],
    credentials: ['database', 'rows'],
    tools: ['database', 'rows'],
    'schedule-rows': ['database', 'rows'],
    memory: ['database', 'rows', 'schedule-rows'],
    conversations: ['database', 'rows', 'memory'],
    runs: ['database', 'rows', 'conversations', 'memory', 'credentials'],
    agents: ['database', 'rows', 'conversations', 'memory', 'tools'],
    imports: ['database', 'rows', 'conversations', 'memory', 'tools', 'agents'],
    gateway: ['database', 'rows'],
    schedules: ['database', 'rows', 'conversations', 'runs', 'schedule-rows'],
    webhooks: ['database', 'rows'],
    openai: ['database', 'rows'],
    hooks: ['database', 'rows', 'runs'],
  },
  // The core of the gateway knows no platform; `platforms.ts` loads the one of an account.
  gateway: Object.fromEntries(PLATFORM_NAMES.map((platform) => [platform, []])),
}

/** Clock and randomness are ports: the simulator must be able to run these rooms on a virtual clock. */
const PURE_ROOMS = ['core', 'engine', 'live', 'service', 'jobs', 'gateway', 'telemetry']
const CLOCK_OR_CHANCE =
  /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\b(setTimeout|setInterval|setImmediate|queueMicrotask)\b|\brandomUUID\b|\bperformance\.now\b/

test('every file imports only what its room may import', () => {
  const faults = sources().flatMap((file) => faultsOf(file, readFileSync(join(SOURCE, file), 'utf8')))
  assert.deepEqual(faults, [])
})

test('there is no import cycle, including type imports', () => {
  const imports = new Map(sources().map((file) => [file, filesOf(file, readFileSync(join(SOURCE, file), 'utf8'))]))
  assert.deepEqual(
    cyclesIn(imports).map((path) => path.join(' -> ')),
    [],
  )
})

test('an import cycle is reported as the path that closes it', () => {
  const a = filesOf('core/a.ts', "import type { B } from './b.ts'\nimport { d } from '../ports/d.ts'")
  const b = filesOf('core/b.ts', "import 'node:fs'\nexport { c } from '../engine/c.ts'")
  const c = filesOf('engine/c.ts', "await import('../core/a.ts')")
  const files = new Map(Object.entries({ 'core/a.ts': a, 'core/b.ts': b, 'engine/c.ts': c, 'ports/d.ts': [] }))
  assert.deepEqual(cyclesIn(files), [['core/a.ts', 'core/b.ts', 'engine/c.ts', 'core/a.ts']])
  assert.deepEqual(cyclesIn(new Map([['core/a.ts', ['ports/d.ts']]])), [])
  assert.deepEqual(cyclesIn(new Map([['core/a.ts', ['core/a.ts']]])), [['core/a.ts', 'core/a.ts']])
})

test('every export is used by another file', () => {
  const everywhere = globSync('{src,test,bench}/**/*.ts', { cwd: join(SOURCE, '..') })
  const texts = new Map(everywhere.map((file) => [file, readFileSync(join(SOURCE, '..', file), 'utf8')]))
  assert.deepEqual(unusedExports(texts), [])
})

test('an export that no other file uses is reported', () => {
  const texts = new Map([
    ['src/a.ts', 'export const used = 1\nexport type Idle = number\nconst x: Idle = used'],
    ['src/b.ts', "import { used } from './a.ts'"],
  ])
  assert.deepEqual(unusedExports(texts), ['src/a.ts exports Idle, which no other file uses'])
})

test('a forbidden import, a long file, a forbidden name and a direct use of the clock are each reported', () => {
  const engine = "import { x } from '../storage/events.ts'\nimport fs from 'node:fs'\nawait import('../cli/run-cli.ts')"
  assert.equal(faultsOf('engine/bad.ts', engine).length, 3)
  assert.equal(faultsOf('core/long.ts', '\n'.repeat(MAX_LINES + 1)).length, 1)
  assert.equal(faultsOf('core/string-utils.ts', '').length, 1)
  assert.equal(faultsOf('engine/late.ts', 'setTimeout(() => {}, 10)').length, 1)
  assert.equal(faultsOf('providers/a.ts', "import type { A } from 'openai'").length, 0)
  assert.equal(faultsOf('providers/b.ts', "import type { A } from 'openai'\nimport { B } from 'openai'").length, 2)
  assert.equal(faultsOf('attic/any.ts', "import '../core/run.ts'").length, 1)
})

test('a forbidden import between folders of a room is reported', () => {
  const faultsIn = (file: string, target: string) => faultsOf(file, `import { x } from '${target}'`).length
  assert.equal(faultsIn('storage/memory/blocks.ts', '../database/statement.ts'), 0)
  assert.equal(faultsIn('storage/memory/blocks.ts', '../rows/agent-row.ts'), 0)
  assert.equal(faultsIn('storage/store.ts', './agents/agents.ts'), 0)
  assert.equal(faultsIn('storage/memory/blocks.ts', '../agents/agents.ts'), 1)
  assert.equal(faultsIn('storage/memory/blocks.ts', '../store.ts'), 1)
  assert.equal(faultsIn('storage/database/statement.ts', '../runs/events.ts'), 1)
  assert.equal(faultsIn('storage/rows/block-row.ts', '../database/statement.ts'), 1)
})

function faultsOf(file: string, text: string): string[] {
  const room = roomOf(file)
  const doors = DOORS[room] ?? { rooms: [], packages: [] }
  const faults: string[] = []
  if (text.split('\n').length > MAX_LINES) faults.push(`${file} is over ${MAX_LINES} lines; split it`)
  if (FORBIDDEN_NAMES.test(file)) faults.push(`${file} has a name without meaning`)
  if (PURE_ROOMS.includes(room) && CLOCK_OR_CHANCE.test(text))
    faults.push(`${file} uses the clock or randomness directly; use the ports`)
  const typesOnly = typeImportsOf(text)
  for (const target of importsOf(text)) {
    if (target.startsWith('.')) {
      const path = join(dirname(file), target)
      const other = path.split('/')[0]!
      if (other !== room && !doors.rooms.includes(other)) faults.push(`${room} may not import ${other} (${file})`)
      if (other === room && !passesSubDoor(file, path)) faults.push(`${file} may not import ${path}`)
    } else {
      const name = target.startsWith('node:') || builtinModules.includes(target) ? 'node:' : packageName(target)
      const isType = typesOnly.has(target) && doors.types?.includes(name)
      if (!doors.packages.includes(name) && !isType) faults.push(`${room} may not import ${target} (${file})`)
    }
  }
  return faults
}

/** Every import cycle, as the path from a file back to itself. */
function cyclesIn(imports: ReadonlyMap<string, string[]>): string[][] {
  const cycles: string[][] = []
  const done = new Set<string>()
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file])
    else if (!done.has(file)) for (const next of imports.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of imports.keys()) visit(file, [])
  return cycles
}

/** The files of the source tree that a file imports. */
const filesOf = (file: string, text: string): string[] =>
  importsOf(text)
    .filter((target) => target.startsWith('.'))
    .map((target) => join(dirname(file), target))

/** By name: a name that another file mentions counts as used. */
function unusedExports(texts: ReadonlyMap<string, string>): string[] {
  const mentions = new Map<string, number>()
  for (const text of texts.values())
    for (const word of new Set(text.match(/\w+/g))) mentions.set(word, (mentions.get(word) ?? 0) + 1)
  return [...texts].flatMap(([file, text]) =>
    file.startsWith('src/')
      ? [...text.matchAll(/^export (?:async )?(?:function\*?|const|class|type) (\w+)/gm)].flatMap(([, name]) =>
          mentions.get(name!) === 1 ? [`${file} exports ${name}, which no other file uses`] : [],
        )
      : [],
  )
}

/** Both are paths from `src/`, in the same room. */
function passesSubDoor(file: string, target: string): boolean {
  const [room, folder, ...rest] = file.split('/')
  const doors = SUB_DOORS[room!]
  if (!doors || rest.length === 0) return true
  const other = target.split('/')[1]!
  return other === folder || doors[folder!]?.includes(other) === true
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

const roomOf = (file: string): string => file.split('/')[0]!

const packageName = (target: string): string =>
  target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')

function sources(): string[] {
  const all = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  return all.filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
}
