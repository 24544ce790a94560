import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { realClock } from '../../src/config/real-clock.ts'
import { defined } from '../../src/core/defined.ts'
import type { McpServer, McpStdioTransport } from '../../src/core/mcp-server.ts'
import { newStdioPrograms } from '../../src/workspaces/programs/stdio-programs.ts'
import type { WorkspacesOptions } from '../../src/workspaces/workspaces-options.ts'
import { type McpCallOptions, type McpClientFixture, openMcpClientFixture } from './fixture-client.ts'

const QUOTA = { diskBytes: 64 << 20, memoryBytes: 512 << 20, processes: 32 }

/** One file that a sandbox can run: it sees only the folder of programs. */
export async function installProgram(home: string, source: string, name: string): Promise<void> {
  await build({
    entryPoints: [source],
    outfile: join(home, 'programs', name),
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
    banner: { js: "import { createRequire } from 'node:module'\nconst require = createRequire(import.meta.url)" },
  })
}

const TEST_SERVER = fileURLToPath(new URL('./stdio-server.ts', import.meta.url))
export const node = (name: string, ...args: string[]): McpStdioTransport => ({
  type: 'stdio',
  command: 'node',
  args: [`/programs/${name}`, ...args],
})

type StdioFixtureOptions = Parameters<typeof openMcpClientFixture>[2] & {
  sandbox?: Pick<WorkspacesOptions, 'resolve' | 'isPublicAddress'>
}

type StdioFixture = McpClientFixture & { home: string; filesOf(server: McpServer): string }

export async function openStdioFixture(
  t: TestContext,
  { sandbox: more, ...options }: StdioFixtureOptions = {},
): Promise<StdioFixture> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-stdio-'))
  const folder = join(home, 'workspaces')
  mkdirSync(folder, { mode: 0o700 })
  mkdirSync(join(home, 'programs'))
  const sandbox = { containment: 'bubblewrap', quota: QUOTA, egress: [] } as const
  const programs = newStdioPrograms({
    folder,
    home,
    clock: realClock,
    sandbox,
    report: (fault) => assert.fail(String(fault)),
    ...defined({ resolve: more?.resolve, isPublicAddress: more?.isPublicAddress }),
  })
  const fixture = await openMcpClientFixture(t, [], { programs, ...options })
  t.after(() => rmSync(home, { recursive: true, force: true }))
  await installProgram(home, TEST_SERVER, 'test.mjs')
  return { ...fixture, home, filesOf: ({ id }) => join(folder, '.programs', id, 'files') }
}

export const description = (name: string) => ({
  name,
  description: `Can ${name}.`,
  inputSchema: { type: 'object' },
  effects: name === 'echo' ? ('none' as const) : ('once' as const),
})
export const callOf =
  (fixture: McpClientFixture, server: McpServer) =>
  (name: string, options: McpCallOptions = {}) =>
    fixture.call(server, name, { pinned: description(name), session: 'one', ...options })
