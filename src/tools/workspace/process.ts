import { defined } from '../../core/defined.ts'
import type { ConversationId } from '../../core/id.ts'
import type { Json } from '../../core/json.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Tool, ToolAnswer } from '../../ports/tool.ts'
import {
  type Containment,
  type OutputRange,
  type ProcessState,
  type Workspace,
  WorkspaceError,
  type Workspaces,
} from '../../ports/workspaces.ts'
import { defineTool, failure, success } from '../define-tool.ts'
import { ONLY_IN_TURNS, whyCommandAsks } from './command-guard.ts'
import { describeStatus, formatOutput, lastLines } from './describe-process.ts'
import { followCommand, retryWhileUnavailable } from './follow-command.ts'

type ProcessToolDeps = {
  workspaces: Workspaces
  containment: Containment
  clock: Clock
  longestWaitSeconds: number
}

const ACTIONS = ['list', 'poll', 'wait', 'log', 'write', 'kill', 'notify'] as const
type Action = (typeof ACTIONS)[number]

type ProcessInput = {
  action: Action
  process_id?: string
  from?: number
  lines?: number
  timeout_seconds?: number
  input?: string
  end_input?: boolean
}

const DEFAULT_WAIT_SECONDS = 60
const DEFAULT_LINES = 200
const PAGE_BYTES = 30_000
/** Output shown when the call has no `from`. */
const TAIL_BYTES = 4_000
const OVERHEAD_MS = 60_000

/** The tool for processes that `shell` started. Stateless: the input says everything. */
export function processTool({ workspaces, containment, clock, longestWaitSeconds }: ProcessToolDeps): Tool {
  type ProcessTarget = {
    workspace: Workspace
    process: ProcessState
    input: ProcessInput
    signal: AbortSignal
    conversationId: ConversationId
  }

  const readOutput = async (
    { workspace, process }: Pick<ProcessTarget, 'workspace' | 'process'>,
    range: OutputRange,
  ) => {
    const output = await workspace.output(process.processId, range)
    return { output, text: formatOutput([output], process.processId) }
  }

  /** The status, and the output since `from`. */
  async function showProcess(target: ProcessTarget, process: ProcessState, range: OutputRange): Promise<ToolAnswer> {
    const { output, text } = await readOutput({ workspace: target.workspace, process }, range)
    const status = `${process.processId}: ${describeStatus(process, clock.now())}`
    const where = `[bytes ${output.from} to ${output.next} of ${output.total}; next: ${output.next}]`
    return success([status, text, where].filter((part) => part !== '').join('\n'))
  }

  const ACTION_HANDLERS: Record<Exclude<Action, 'list'>, (target: ProcessTarget) => Promise<ToolAnswer>> = {
    poll: (target) => showProcess(target, target.process, rangeFrom(target.input.from)),

    async wait(target) {
      const { workspace, process, input, signal, conversationId } = target
      const { timeout_seconds: seconds = DEFAULT_WAIT_SECONDS } = input
      const forMs = Math.min(seconds, longestWaitSeconds) * 1_000
      const current = process.ending ? process : await followCommand(workspace, process, { clock, signal, forMs })
      // The turn has seen the end: no wake-up is needed.
      if (current.ending && !signal.aborted)
        await workspaces.processWatches.remove({ conversationId, processId: process.processId })
      return showProcess(target, current, rangeFrom(input.from))
    },

    async log(target) {
      const { process, input } = target
      const { lines = DEFAULT_LINES, from } = input
      const range = from === undefined ? { last: PAGE_BYTES } : { from, limit: PAGE_BYTES }
      const { output, text } = await readOutput(target, range)
      if (from === undefined) {
        const tail = lastLines(text, lines)
        return success(`${tail}\n[the end of ${output.total} bytes; "from" reads from a byte on]`)
      }
      // With invalid bytes, the length of the text differs from the length of the bytes.
      const cut = output.text.includes('\ufffd') ? output.text : firstLines(output.text, lines)
      const next = cut === output.text ? output.next : from + Buffer.byteLength(cut)
      const more = next < output.total ? `next: ${next}` : `that is all${process.ending ? '' : ' so far'}`
      return success(`${cut.replace(/\n$/, '')}\n[bytes ${output.from} to ${next} of ${output.total}; ${more}]`)
    },

    async write({ workspace, process, input }) {
      const { input: text = '', end_input: end = false } = input
      if (text === '' && !end) return failure('There is nothing to write: give `input`, or `end_input` to end it.')
      const isTaken = await workspace.write(process.processId, { text, end })
      if (!isTaken)
        return failure(`${process.processId} takes no input any more: ${describeStatus(process, clock.now())}.`)
      return success(`Written to ${process.processId}${end ? ', and its input ended' : ''}.`)
    },

    async kill(target) {
      const { workspace, process, conversationId } = target
      // The turn ends the process itself: no wake-up is needed.
      await workspaces.processWatches.remove({ conversationId, processId: process.processId })
      const ended = process.ending
        ? process
        : await retryWhileUnavailable(() => workspace.kill(process.processId, 'asked'), clock)
      return showProcess(target, ended, { last: TAIL_BYTES })
    },

    async notify({ process, conversationId }) {
      const { processId } = process
      if (process.ending) return success(`${processId} has ended already: ${describeStatus(process, clock.now())}.`)
      await workspaces.processWatches.add({ conversationId, processId })
      return success(`A new turn starts when ${processId} ends.`)
    },
  }

  async function perform(
    input: ProcessInput,
    conversationId: ConversationId,
    signal: AbortSignal,
  ): Promise<ToolAnswer> {
    const workspace = await retryWhileUnavailable(() => workspaces.find(conversationId), clock)
    if (!workspace) return input.action === 'list' ? success(NOTHING_YET) : failure(NOTHING_YET)
    const all = await retryWhileUnavailable(() => workspace.processes(), clock)
    if (input.action === 'list') return success(listProcesses(all, clock.now()))
    if (input.process_id === undefined)
      return failure(`${input.action} needs a process_id. ${listRecent(all, clock.now())}`)
    const process = all.find(({ processId }) => processId === input.process_id)
    if (!process) return failure(`There is no process "${input.process_id}" here. ${listRecent(all, clock.now())}`)
    return ACTION_HANDLERS[input.action]({ workspace, process, input, signal, conversationId })
  }

  return defineTool<ProcessInput>({
    name: 'process',
    description: describe(longestWaitSeconds),
    inputSchema: schema(longestWaitSeconds),
    // Only `write` must not happen twice; every other action can be repeated.
    effects: 'verifiable',
    needsApproval: false,
    ...defined({ waitsInTurns: containment === 'local' ? ONLY_IN_TURNS : undefined }),
    // The program that reads the input may be a shell.
    approvalReason: ({ action, input = '' }, policy) =>
      action === 'write' && input !== '' ? whyCommandAsks(input, { containment, policy }) : undefined,
    timeoutMs: longestWaitSeconds * 1_000 + OVERHEAD_MS,
    run: async (input, { conversationId, signal }) => {
      try {
        return await perform(input, conversationId, signal)
      } catch (error) {
        if (!(error instanceof WorkspaceError)) throw error
        return failure(error.message)
      }
    },
    verify: async ({ action }) => ({ type: action === 'write' ? 'unknown' : 'not-done' }),
  })
}

const NOTHING_YET = 'Nothing has run in this conversation yet. The tool shell starts something.'

const rangeFrom = (from: number | undefined): OutputRange =>
  from === undefined ? { last: TAIL_BYTES } : { from, limit: PAGE_BYTES }

function firstLines(text: string, count: number): string {
  let end = -1
  for (let line = 0; line < count; line++) {
    end = text.indexOf('\n', end + 1)
    if (end < 0) return text
  }
  return text.slice(0, end + 1)
}

const MAX_LISTED = 50
const MAX_COMMAND_CHARACTERS = 100

function listProcesses(all: readonly ProcessState[], now: number): string {
  if (all.length === 0) return NOTHING_YET
  const lines = all.slice(-MAX_LISTED).map((process) => {
    const line = process.command.replaceAll('\n', ' ')
    const command = line.length > MAX_COMMAND_CHARACTERS ? `${line.slice(0, MAX_COMMAND_CHARACTERS)}…` : line
    return `${process.processId}  ${describeStatus(process, now)}, ${process.outputBytes} bytes of output: ${command}`
  })
  const older = all.length - lines.length
  return [...(older > 0 ? [`[${older} older ones are left out]`] : []), ...lines].join('\n')
}

function listRecent(all: readonly ProcessState[], now: number): string {
  if (all.length === 0) return NOTHING_YET
  const recent = all.slice(-10).map((process) => `${process.processId} (${describeStatus(process, now)})`)
  return `There are: ${recent.join('; ')}.`
}

const describe = (longest: number): string =>
  [
    'Looks after commands that `shell` started in this conversation. list: all of them. poll: how one is and what it has',
    'printed; give the `next` of the last answer as `from` to see only what is new. wait: until it ends, at most',
    `timeout_seconds (usually ${DEFAULT_WAIT_SECONDS}, at most ${longest}). log: its output, the last ${DEFAULT_LINES} lines, or`,
    'from the byte `from` on. write: `input` for it, as it stands (end lines with \\n); end_input closes it. kill: ends it',
    'and everything it started. notify: a new turn starts when it ends.',
  ].join(' ')

const schema = (longest: number): Json => ({
  type: 'object',
  properties: {
    action: { type: 'string', enum: [...ACTIONS] },
    process_id: { type: 'string', minLength: 1, maxLength: 64 },
    from: { type: 'integer', minimum: 0, description: 'poll, wait, log: the byte of the output to begin with' },
    lines: { type: 'integer', minimum: 1, maximum: 2_000, description: 'log: how many lines' },
    timeout_seconds: { type: 'integer', minimum: 1, maximum: longest, description: 'wait: how long' },
    input: { type: 'string', maxLength: 100_000, description: 'write: what' },
    end_input: { type: 'boolean', description: 'write: nothing more will come' },
  },
  required: ['action'],
  additionalProperties: false,
})
