import { defined } from '../../../src/core/defined.ts'
import type { Effects } from '../../../src/core/tool-call.ts'
import type { Clock } from '../../../src/ports/clock.ts'
import type { Tool, ToolAnswer, ToolContext } from '../../../src/ports/tool.ts'
import { defineTool, failure, success } from '../../../src/tools/define-tool.ts'
import type { FaultInjector } from './faults.ts'
import type { Kernel } from './kernel.ts'
import type { OutsideProgram } from './remote-tools.ts'
import type { Setup } from './setup.ts'
import type { Observer } from './unreliable-store.ts'

/** Effects of tools, recorded outside of the processes. */
export type Outside = {
  /** Records the start of an execution and returns its sequence number. */
  begun(tool: string, context: ToolContext, process: string): number
  over(begunAt: number): void
  effect(tool: string, context: ToolContext, execution: { begunAt: number; process: string }): void
  /** Lets a verifiable tool check whether its effect happened. */
  hasHappened(key: string): boolean
  program: OutsideProgram
}

type SimulatedToolDeps = {
  kernel: Kernel
  injector: FaultInjector
  clock: Clock
  outside: Outside
  observer: Observer
  name: string
  kill(why: string): void
  setup: Pick<Setup, 'hasGiants'>
}

type Kind = { name: string; effects: Effects; parallel: boolean; needsApproval: boolean }

export const KINDS: Kind[] = [
  { name: 'look', effects: 'none', parallel: true, needsApproval: false },
  { name: 'again', effects: 'idempotent', parallel: true, needsApproval: false },
  { name: 'check', effects: 'verifiable', parallel: false, needsApproval: false },
  { name: 'once', effects: 'once', parallel: false, needsApproval: false },
  { name: 'risky', effects: 'once', parallel: false, needsApproval: true },
  { name: 'slow', effects: 'none', parallel: false, needsApproval: false },
]

/** Long enough to detect a cancel that does not reach the tool. */
const SLOW_MS = 12_000

/** One message of each client has calls that kill every process that runs them. */
const isPoison = (input: unknown): boolean => /^c\d+-2 /.test(String((input as { wish?: string }).wish))

export const simulatedTools = (parts: SimulatedToolDeps): Tool[] => KINDS.map((kind) => simulatedTool(kind, parts))

function simulatedTool(
  kind: Kind,
  { kernel, injector, clock, outside, observer, kill, name, setup }: SimulatedToolDeps,
): Tool {
  const run = async (input: unknown, context: ToolContext): Promise<ToolAnswer> => {
    const begunAt = outside.begun(kind.name, context, name)
    try {
      return await work(input, context, begunAt)
    } finally {
      outside.over(begunAt)
    }
  }
  const work = async (input: unknown, context: ToolContext, begunAt: number): Promise<ToolAnswer> => {
    const isDeaf = injector.strikes('tool-deaf', kind.name)
    const longest = kind.name === 'slow' ? SLOW_MS : isDeaf ? 8_000 : 200
    await clock.sleep(
      kernel.between(kind.name === 'slow' ? SLOW_MS / 4 : 1, longest),
      isDeaf ? undefined : context.signal,
    )
    if (kind.effects === 'idempotent' && isPoison(input) && injector.strikes('tool-poison', kind.name)) {
      kill(`${kind.name} is poison`)
      return new Promise(() => {})
    }
    if (context.signal.aborted && !isDeaf) return failure('stopped before it did anything')
    if (injector.strikes('tool-throws', kind.name)) throw new Error('simulated throw')
    if (injector.strikes('tool-dies-before-effect', kind.name)) {
      observer.reached('crash between intent and effect')
      kill(`${kind.name} dies before its effect`)
      return new Promise(() => {})
    }
    outside.effect(kind.name, context, { begunAt, process: name })
    if (injector.strikes('tool-dies-after-effect', kind.name)) {
      observer.reached('crash between effect and result')
      kill(`${kind.name} dies after its effect`)
      return new Promise(() => {})
    }
    context.progress('done')
    // Results of a few thousand characters fill a small window within one exchange.
    const isLong = injector.strikes('tool-long', kind.name) && setup.hasGiants
    const rest = isLong ? 'y'.repeat(kernel.between(0, 3_000)) : ''
    return success(injector.strikes('tool-huge', kind.name) ? 'x'.repeat(60_000) : `${kind.name} happened${rest}`)
  }
  const verify = async (_: unknown, { idempotencyKey }: ToolContext) =>
    outside.hasHappened(idempotencyKey)
      ? { type: 'done' as const, answer: success('it had happened') }
      : { type: 'not-done' as const }
  const inputSchema = { type: 'object' }
  return defineTool({
    ...kind,
    description: kind.name,
    inputSchema,
    run,
    ...defined({ verify: kind.effects === 'verifiable' ? verify : undefined }),
  })
}
