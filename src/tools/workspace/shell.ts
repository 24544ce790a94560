import { defined } from '../../core/defined.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Tool, ToolAnswer, ToolContext } from '../../ports/tool.ts'
import {
  type Containment,
  type ProcessState,
  type Workspace,
  WorkspaceError,
  type Workspaces,
} from '../../ports/workspaces.ts'
import { defineTool, failure } from '../define-tool.ts'
import { ONLY_IN_TURNS, whyCommandAsks } from './command-guard.ts'
import { describeStatus, formatOutput, isSuccess } from './describe-process.ts'
import { followCommand, retryWhileUnavailable } from './follow-command.ts'

type ShellToolDeps = {
  workspaces: Workspaces
  containment: Containment
  clock: Clock
  /** Maximum of `timeout_seconds`. */
  longestWaitSeconds: number
}

type ShellInput = { command: string; timeout_seconds?: number; background?: boolean; notify?: boolean }

const DEFAULT_WAIT_SECONDS = 120
/** How long a background command is watched first, so that an immediate failure is reported. */
const FIRST_LOOK_MS = 700
/** The model sees the beginning and the end of a longer output. */
const HEAD_BYTES = 8_000
const TAIL_BYTES = 20_000
/** Time beside the command itself: creating the workspace, ending a cancelled command. */
const OVERHEAD_MS = 120_000

/**
 * Runs a command in the conversation's workspace. The idempotency key of the call is the key of the process, so the
 * worker that takes over after a crash finds it: the command never runs twice, and its result is reported as usual.
 *
 * `commandApproval` of the agent says which commands need approval; without a sandbox every command does. This depends
 * on the input, so it applies even to an agent whose settings exempt `shell` from approval.
 */
export function shell({ workspaces, containment, clock, longestWaitSeconds }: ShellToolDeps): Tool {
  const isLocal = containment === 'local'

  /** Waits for a started process and describes the result. Repeatable. */
  async function waitAndAnswer(workspace: Workspace, started: ProcessState, call: ShellCall): Promise<ToolAnswer> {
    const { input, context } = call
    const { timeout_seconds: seconds = DEFAULT_WAIT_SECONDS, background = false, notify = false } = input
    const spentMs = clock.now() - started.startedAt
    const forMs = (background ? FIRST_LOOK_MS : Math.min(seconds, longestWaitSeconds) * 1_000) - spentMs
    const { signal, progress, conversationId } = context
    const current = started.ending
      ? started
      : await followCommand(workspace, started, { clock, signal, forMs, progress })
    if (current.ending) return toAnswer(workspace, current)
    if (signal.aborted) return stopped(workspace, current, signal)
    const left = current.background
      ? current
      : await retryWhileUnavailable(() => workspace.detach(current.processId), clock)
    if (left.ending) return toAnswer(workspace, left)
    if (notify) await workspaces.processWatches.add({ conversationId, processId: left.processId })
    return toAnswer(
      workspace,
      left,
      describeRunning(left, { isAwaited: notify, seconds: background ? undefined : seconds }),
    )
  }

  async function stopped(workspace: Workspace, { processId }: ProcessState, signal: AbortSignal): Promise<ToolAnswer> {
    // This answer is discarded: the command continues, and the next worker calls `verify`.
    if (signal.reason === 'shutdown') return { status: 'unknown', output: 'The server stopped; the command runs on.' }
    const why = signal.reason === 'timeout' ? 'timed-out' : 'cancelled'
    return toAnswer(workspace, await retryWhileUnavailable(() => workspace.kill(processId, why), clock))
  }

  async function toAnswer(workspace: Workspace, process: ProcessState, more?: string): Promise<ToolAnswer> {
    const output = await readOutput(workspace, process, clock)
    const status = `[process ${process.processId}: ${describeStatus(process, clock.now())}${more ? `. ${more}` : ''}]`
    const isGood = !process.ending || isSuccess(process)
    return { status: isGood ? 'success' : 'error', output: output === '' ? status : `${output}\n${status}` }
  }

  return defineTool<ShellInput>({
    name: 'shell',
    description: describe(longestWaitSeconds, isLocal),
    inputSchema: schema(longestWaitSeconds),
    effects: 'verifiable',
    needsApproval: isLocal,
    ...defined({ waitsInTurns: isLocal ? ONLY_IN_TURNS : undefined }),
    approvalReason: ({ command }, policy) => whyCommandAsks(command, { containment, policy }),
    // The tool itself answers long before this timeout.
    timeoutMs: longestWaitSeconds * 1_000 + OVERHEAD_MS,
    run: async (input, context) => {
      const { conversationId, idempotencyKey: key, runId, signal } = context
      let hasBegun = false
      try {
        const workspace = await workspaces.open(conversationId)
        if (signal.aborted) return failure('Stopped before the command began. It did not run.')
        hasBegun = true
        const request = { key, runId, command: input.command, background: input.background ?? false }
        const started = await retryWhileUnavailable(() => workspace.start(request), clock)
        return await waitAndAnswer(workspace, started, { input, context })
      } catch (error) {
        if (!(error instanceof WorkspaceError)) throw error
        if (!hasBegun || error.fault === 'gone') return failure(error.message)
        return { status: 'unknown', output: `${error.message} ${MAY_HAVE_RUN}` }
      }
    },
    verify: async (input, context) => {
      const { conversationId, idempotencyKey: key } = context
      const workspace = await retryWhileUnavailable(() => workspaces.find(conversationId), clock)
      const started = workspace && (await retryWhileUnavailable(() => workspace.findByKey(key), clock))
      if (!started) return { type: 'not-done' }
      return { type: 'done', answer: await waitAndAnswer(workspace, started, { input, context }) }
    },
  })
}

type ShellCall = { input: ShellInput; context: ToolContext }

const MAY_HAVE_RUN = 'The command may or may not have run; process {"action":"list"} tells as soon as it can be asked.'

async function readOutput(workspace: Workspace, { processId }: ProcessState, clock: Clock): Promise<string> {
  const read = (range: Parameters<Workspace['output']>[1]) =>
    retryWhileUnavailable(() => workspace.output(processId, range), clock)
  const head = await read({ from: 0, limit: HEAD_BYTES })
  if (head.next >= head.total) return formatOutput([head], processId)
  const tail = await read(
    head.total - head.next <= TAIL_BYTES ? { from: head.next, limit: TAIL_BYTES } : { last: TAIL_BYTES },
  )
  return formatOutput([head, tail], processId)
}

function describeRunning(
  { processId }: ProcessState,
  { isAwaited, seconds }: { isAwaited: boolean; seconds: number | undefined },
): string {
  const how =
    seconds === undefined ? 'It runs in the background' : `Not over after ${seconds} s: moved to the background`
  const then = isAwaited
    ? 'You will be told when it ends'
    : `Wait for it with process {"action":"wait","process_id":"${processId}"}`
  return `${how}. ${then}`
}

const describe = (longest: number, isLocal: boolean): string =>
  [
    'Runs a command with bash in the workspace of this conversation. Working directory, environment and files stay from',
    'one command to the next. Answers with the output of both streams and the exit code. A command that is not over after',
    `timeout_seconds (usually ${DEFAULT_WAIT_SECONDS}, at most ${longest}) is not ended: it moves to the background and the`,
    'answer has its process id, for the tool `process`. background: true answers at once, for servers and long work; such a',
    'command has a copy of the working directory and environment. notify: true starts a new turn when a command ends in',
    'the background.',
    isLocal
      ? 'A person has to agree to every command.'
      : 'A person may have to agree to a command, usually if it destroys (rm -r, git reset --hard and the like) or cannot be read.',
  ].join(' ')

const schema = (longest: number) => ({
  type: 'object',
  properties: {
    command: { type: 'string', minLength: 1, maxLength: 100_000 },
    timeout_seconds: {
      type: 'integer',
      minimum: 1,
      maximum: longest,
      description: 'how long to wait before it moves to the background',
    },
    background: { type: 'boolean', description: 'do not wait for its end' },
    notify: { type: 'boolean', description: 'start a new turn when it ends in the background' },
  },
  required: ['command'],
  additionalProperties: false,
})
