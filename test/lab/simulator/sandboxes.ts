import type { DatabaseSync } from 'node:sqlite'
import { DEFAULT_ORGANIZATION } from '../../../src/core/id.ts'
import type { StoredTool } from '../../../src/core/stored-tool.ts'
import type { ToolOutcome } from '../../../src/core/tool-call.ts'
import type { ToolContext } from '../../../src/ports/tool.ts'
import type { ToolSources } from '../../../src/ports/tool-sources.ts'
import {
  type ProcessEnding,
  type ProcessState,
  type ProgramRequest,
  type Workspace,
  WorkspaceError,
} from '../../../src/ports/workspaces.ts'
import type { SourceToolDeps } from '../../../src/tools/custom/source-tool-deps.ts'
import type { FaultInjector } from './faults.ts'
import type { Kernel } from './kernel.ts'
import type { Outside } from './tools.ts'

/** The built-in tool that is brought as source on some days, with the same effects. */
export const SOURCE_TOOL = 'once'

/** Longer than any program of a day runs. */
export const SOURCE_SECONDS = 60

export const sourceTool = (): StoredTool => ({
  id: 'tool-00000000-0000-4000-8000-000000000001',
  organizationId: DEFAULT_ORGANIZATION,
  name: SOURCE_TOOL,
  description: SOURCE_TOOL,
  toolType: 'custom',
  sourceType: 'python',
  sourceCode: `def ${SOURCE_TOOL}():\n    pass\n`,
  jsonSchema: { name: SOURCE_TOOL, parameters: { type: 'object' } },
  tags: [],
  returnCharLimit: 50_000,
  needsApproval: false,
  parallel: false,
  wire: {},
  createdAt: 0,
  updatedAt: 0,
})

type Program = { state: ProcessState; ended: PromiseWithResolvers<void>; context?: ToolContext }
type Execution = { context: ToolContext; begunAt: number; process: string }

/**
 * The supervisors of all workspaces: like the disk they outlive the processes of the server. A program takes effect once
 * it has run for a while, whether a server is there or not; its sandbox may die before or after that.
 */
export function newSandboxes({ kernel, injector }: { kernel: Kernel; injector: FaultInjector }) {
  const programs = new Map<string, Program>()
  const executions = new Map<string, Execution>()
  let outside: Outside | undefined

  function begin({ key, runId, title, input }: ProgramRequest): Program {
    const state = {
      processId: `process-${programs.size}`,
      key,
      command: title,
      runId,
      background: true,
      startedAt: kernel.now(),
      outputBytes: 0,
    }
    const callId = (JSON.parse(input) as { environment: Record<string, string> }).environment.HOLDFAST_CALL_ID!
    const program: Program = { state, ended: Promise.withResolvers() }
    const execution = executions.get(callId)
    if (execution) program.context = execution.context
    programs.set(key, program)
    kernel.log(`${title} ${state.processId} begins in its sandbox`)
    kernel.after(kernel.between(1, 4_000), () => {
      if (program.state.ending) return
      if (injector.strikes('tool-dies-before-effect', 'sandbox')) return end(program, { type: 'lost' })
      if (execution) outside!.effect(SOURCE_TOOL, execution.context, executions.get(callId)!)
      end(
        program,
        injector.strikes('tool-dies-after-effect', 'sandbox') ? { type: 'lost' } : { type: 'exited', code: 0 },
      )
    })
    return program
  }

  function end(program: Program, ending: ProcessEnding): void {
    if (program.state.ending) return
    program.state = { ...program.state, endedAt: kernel.now(), ending }
    kernel.log(`${program.state.processId} ends: ${ending.type}`)
    program.ended.resolve()
  }

  const requireProgram = (processId: string): Program =>
    [...programs.values()].find(({ state }) => state.processId === processId)!

  const workspace = {
    async startProgram(request: ProgramRequest) {
      const program = programs.get(request.key) ?? begin(request)
      // The program runs, and the answer that says so is lost.
      if (injector.strikes('tool-throws', 'sandbox')) throw new WorkspaceError('unavailable', 'simulated: no answer.')
      return program.state
    },
    findByKey: async (key: string) => programs.get(key)?.state,
    async wait(processId: string, signal: AbortSignal) {
      const program = requireProgram(processId)
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      if (!signal.aborted) await Promise.race([program.ended.promise, aborted])
      return program.state
    },
    async output(processId: string, _: unknown, stream = 'output') {
      const isDone = stream === 'result' && requireProgram(processId).state.ending?.type === 'exited'
      const text = isDone ? JSON.stringify({ value: `${SOURCE_TOOL} happened`, blocks: [] }) : ''
      return { text, from: 0, next: text.length, total: text.length, dropped: 0 }
    },
    async kill(processId: string, why: 'cancelled' | 'timed-out') {
      const program = requireProgram(processId)
      end(program, { type: 'killed', signal: 'SIGTERM', why })
      return program.state
    },
  } as unknown as Workspace

  const isCancelled = (database: DatabaseSync, runId: string): boolean =>
    database.prepare(`select status from runs where id = ?`).get(runId)?.status !== 'completed'

  return {
    workspaces: {
      open: async () => workspace,
      find: async () => workspace,
      openEgress: async () => ({}),
    } satisfies Partial<SourceToolDeps['workspaces']>,
    /** Tells the checker of each execution. */
    observed: (sources: ToolSources, { told, process }: { told: Outside; process: string }): ToolSources => ({
      toTool(stored) {
        const tool = sources.toTool(stored)
        outside = told
        return {
          ...tool,
          async run(input, context) {
            const begunAt = told.begun(SOURCE_TOOL, context, process)
            executions.set(context.idempotencyKey, { context, begunAt, process })
            try {
              return await tool.run(input, context)
            } finally {
              told.over(begunAt)
            }
          },
        }
      },
    }),
    /** What each program did, and what its run says about it. */
    faults(database: DatabaseSync): string[] {
      return [...programs.values()].flatMap(({ state: { ending, processId }, context }) => {
        if (!context || isCancelled(database, context.runId)) return []
        const outcomes = database
          .prepare(
            `select body from events where run_number = (select number from runs where id = ?) and type = 'tool-ended'`,
          )
          .all(context.runId)
          .map(({ body }) => (JSON.parse(String(body)) as { outcome: ToolOutcome }).outcome)
          .filter(({ callId }) => callId === context.callId)
        const [outcome] = outcomes
        if (outcomes.length !== 1 || !outcome) return []
        const said = `I28 ${processId} of ${context.runId} ${context.callId}: ${ending?.type}, and its outcome is "${outcome.status}: ${outcome.output}"`
        if (ending?.type === 'killed') return [`${said}, without a cancel`]
        if (ending?.type === 'lost' && outcome.status !== 'unknown') return [said]
        return ending?.type === 'exited' && outcome.status === 'error' ? [said] : []
      })
    },
  }
}

export type Sandboxes = ReturnType<typeof newSandboxes>
