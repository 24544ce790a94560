import type { ToolAnswer, ToolContext, Verification } from '../../ports/tool.ts'
import { type ProcessState, type Workspace, WorkspaceError } from '../../ports/workspaces.ts'
import { failure } from '../define-tool.ts'
import { followCommand, retryWhileUnavailable } from '../workspace/follow-command.ts'
import { type EndedSource, errorOutput, readEnded } from './source-answer.ts'
import type { SourceProgram } from './source-program.ts'
import type { SourceToolDeps } from './source-tool-deps.ts'

export type ProgramCall = {
  /** Shown among the processes of the workspace. */
  title: string
  name: string
  /** Whether it may run again after it was lost with its sandbox. */
  isRepeatable: boolean
  build(): Promise<SourceProgram>
  toAnswer(ended: EndedSource, process: ProcessState): Promise<ToolAnswer>
}

/** Runs a program for a tool call in the workspace of its conversation, and finds it again after a crash. */
export function newProgramRunner({ workspaces, clock, timeoutSeconds }: SourceToolDeps) {
  async function start(workspace: Workspace, call: ProgramCall, context: ToolContext): Promise<ProcessState> {
    const program = await call.build()
    const { idempotencyKey, runId } = context
    const startAs = (key: string) =>
      retryWhileUnavailable(() => workspace.startProgram({ ...program, key, runId, title: call.title }), clock)
    const first = await startAs(idempotencyKey)
    return first.ending?.type === 'lost' && call.isRepeatable ? startAs(`${idempotencyKey} again`) : first
  }

  async function finish(
    workspace: Workspace,
    started: ProcessState,
    { call, context }: { call: ProgramCall; context: ToolContext },
  ): Promise<ToolAnswer> {
    const { signal, progress } = context
    // A worker that takes a call over gives it the whole time again: the clocks of two processes may differ.
    const forMs = timeoutSeconds * 1_000
    const current = started.ending
      ? started
      : await followCommand(workspace, started, { clock, signal, forMs, progress })
    const kill = (why: 'cancelled' | 'timed-out') =>
      retryWhileUnavailable(() => workspace.kill(current.processId, why), clock)
    if (current.ending) return answer(workspace, current, call)
    // This answer is discarded: the tool goes on, and the next worker asks for its result.
    if (signal.reason === 'shutdown') return { status: 'unknown', output: 'The server stopped; the tool goes on.' }
    if (signal.aborted && signal.reason !== 'timeout') {
      const { status, ...printed } = await answer(workspace, await kill('cancelled'), call)
      return {
        ...printed,
        status: status === 'success' ? status : 'unknown',
        output: status === 'success' ? printed.output : cancelledText(call.name),
      }
    }
    const answered = await answer(workspace, await kill('timed-out'), call)
    // A thread of the tool may outlive its result.
    return answered.status === 'success' ? answered : { ...answered, output: timedOutText(call.name, timeoutSeconds) }
  }

  async function answer(workspace: Workspace, process: ProcessState, call: ProgramCall): Promise<ToolAnswer> {
    return call.toAnswer(await retryWhileUnavailable(() => readEnded(workspace, process), clock), process)
  }

  return {
    async run(call: ProgramCall, context: ToolContext): Promise<ToolAnswer> {
      let hasBegun = false
      try {
        const workspace = await workspaces.open(context.conversationId)
        if (context.signal.aborted) return failure('Stopped before the tool began. It did not run.')
        hasBegun = true
        return await finish(workspace, await start(workspace, call, context), { call, context })
      } catch (error) {
        if (!(error instanceof WorkspaceError)) throw error
        if (error.fault === 'missing-program')
          return failure(`${call.name} did not run: ${missingProgramText(error.message)}`)
        if (!hasBegun || error.fault === 'gone') return failure(error.message)
        return { status: 'unknown', output: `${error.message} ${call.name} may or may not have run.` }
      }
    },
    async verify(call: ProgramCall, context: ToolContext): Promise<Verification> {
      const workspace = await retryWhileUnavailable(() => workspaces.find(context.conversationId), clock)
      const started =
        workspace && (await retryWhileUnavailable(() => workspace.findByKey(context.idempotencyKey), clock))
      if (!started) return { type: 'not-done' }
      return { type: 'done', answer: await finish(workspace, started, { call, context }) }
    },
  }
}

const missingProgramText = (message: string): string =>
  /python/.test(message) ? `${message} Tools in Python need it: the operator can install the package python3.` : message

const cancelledText = (name: string): string =>
  `${name} was ended because the run was cancelled. It may or may not have taken effect.`

const timedOutText = (name: string, seconds: number): string =>
  errorOutput(
    name,
    `TimeoutError: the tool ran longer than ${seconds} seconds and was ended. It may have taken effect in part`,
  )
