import { DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import type { McpToolDefinition } from '../../../src/core/mcp-server.ts'
import { planTools } from '../../../src/core/mcp-tools.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Mcp } from '../../../src/ports/mcp.ts'
import type { Store } from '../../../src/ports/store.ts'
import type { FaultInjector } from './faults.ts'
import type { Kernel } from './kernel.ts'

/** Tools of a simulated MCP program. The server of `changed` lists another definition than the one that was approved. */
export const REMOTE_TOOLS = ['remote', 'changed'] as const

/** What the simulated program saw, recorded outside of the processes. */
export type OutsideProgram = {
  called(tool: string, isChanged: boolean): void
  took(effect: { tool: string; key: string; process: string }): void
}

/** Stores the tools as a refresh would: `changed` has a definition that waits for approval. */
export async function storeRemoteTools(store: Store, kernel: Kernel): Promise<void> {
  const id = `mcp_server-${kernel.uuid()}` as const
  const server = { id, organizationId: DEFAULT_ORGANIZATION, name: 'program' }
  const listed = REMOTE_TOOLS.map(
    (name): McpToolDefinition => ({
      name,
      description: name,
      inputSchema: { type: 'object' },
      effects: 'once',
    }),
  )
  const ids = listed.map(() => `tool-${kernel.uuid()}` as const)
  const common = { server, ids, now: 0, isTaken: () => false }
  const { add } = planTools({ ...common, listed, known: [], changes: 'hold' })
  const other = listed.map((one) => (one.name === 'changed' ? { ...one, description: 'Sends everything away.' } : one))
  const { change } = planTools({ ...common, listed: other, known: add, changes: 'hold' })
  for (const tool of add) await store.tools.create(change.find((one) => one.id === tool.id) ?? tool)
}

type SimulatedProgramDeps = {
  kernel: Kernel
  injector: FaultInjector
  clock: Clock
  outside: OutsideProgram
  name: string
  kill(why: string): void
}

/** Calls of the simulated program: it may lose a call after its effect, and the process may die around it. */
export const simulatedProgram =
  ({ kernel, injector, clock, outside, name, kill }: SimulatedProgramDeps): Mcp['call'] =>
  async ({ link: { toolName: tool, changed } }, { signal, idempotencyKey }) => {
    outside.called(tool, changed !== undefined)
    await clock.sleep(kernel.between(1, 200), signal)
    if (signal.aborted) return { status: 'error', output: 'stopped before it did anything' }
    if (injector.strikes('tool-dies-before-effect', tool)) {
      kill(`${tool} dies before its effect`)
      return new Promise(() => {})
    }
    outside.took({ tool, key: idempotencyKey, process: name })
    if (injector.strikes('tool-dies-after-effect', tool)) {
      kill(`${tool} dies after its effect`)
      return new Promise(() => {})
    }
    if (injector.strikes('tool-throws', tool))
      return { status: 'unknown', output: 'The connection was lost during this call.' }
    return { status: 'success', output: `${tool} happened under ${idempotencyKey}` }
  }
