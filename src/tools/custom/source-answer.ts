import { type Block, cleanText, rewriteText } from '../../core/block.ts'
import { defined } from '../../core/defined.ts'
import type { Json } from '../../core/json.ts'
import { STALE_WRITE_OUTPUT, type ToolWrite } from '../../core/tool-write.ts'
import type { ToolAnswer } from '../../ports/tool.ts'
import type { OutputStream, ProcessEnding, ProcessState, Workspace } from '../../ports/workspaces.ts'

const MAX_RESULT_BYTES = 4 * 1024 * 1024
/** Of each output, from its beginning and its end; the whole is with the process. */
const HEAD_BYTES = 4_000
const TAIL_BYTES = 12_000
const MAX_ERROR_CHARACTERS = 1_000

type BlockChange = { label: string; before: string; after: string }

/** What the runner wrote. It comes from the sandbox, so nothing of it is trusted but its form. */
type SourceResult =
  | { type: 'value'; value: string | null; blocks: BlockChange[] }
  | { type: 'error'; error: string }
  | { type: 'none' }

export type EndedSource = { result: SourceResult; stdout: string; stderr: string }

export async function readEnded(workspace: Workspace, { processId }: ProcessState): Promise<EndedSource> {
  const range = { from: 0, limit: MAX_RESULT_BYTES }
  const [result, stdout, stderr] = await Promise.all([
    workspace.output(processId, range, 'result'),
    readPrinted(workspace, processId, 'output'),
    readPrinted(workspace, processId, 'errors'),
  ])
  return { result: parseResult(result.text), stdout, stderr }
}

async function readPrinted(workspace: Workspace, processId: string, stream: OutputStream): Promise<string> {
  const head = await workspace.output(processId, { from: 0, limit: HEAD_BYTES + TAIL_BYTES }, stream)
  if (head.next >= head.total) return plainText(head.text)
  const tail = await workspace.output(processId, { last: TAIL_BYTES }, stream)
  const beginning = head.text.slice(0, HEAD_BYTES)
  const omitted = tail.from - HEAD_BYTES + head.dropped
  return plainText(`${beginning}\n[… ${omitted} bytes left out …]\n${tail.text}`)
}

/** A store can hold neither NUL nor half a character. */
const plainText = (text: string): string => cleanText(text).toWellFormed()

function parseResult(text: string): SourceResult {
  let read: Json
  try {
    read = JSON.parse(text) as Json
  } catch {
    return { type: 'none' }
  }
  if (read === null || typeof read !== 'object' || Array.isArray(read)) return { type: 'none' }
  if (typeof read.error === 'string') return { type: 'error', error: plainText(read.error) }
  if (typeof read.value !== 'string' && read.value !== null) return { type: 'none' }
  const blocks = Array.isArray(read.blocks) ? read.blocks.filter(isBlockChange) : []
  return { type: 'value', value: read.value === null ? null : plainText(read.value), blocks }
}

const isBlockChange = (value: Json): value is BlockChange =>
  value !== null &&
  typeof value === 'object' &&
  !Array.isArray(value) &&
  [value.label, value.before, value.after].every((one) => typeof one === 'string')

/** The answer of a call whose process has ended. */
export async function answerOf(
  name: string,
  { ended, process, blocks }: { ended: EndedSource; process: Pick<ProcessState, 'ending'>; blocks(): Promise<Block[]> },
): Promise<ToolAnswer> {
  const { result, stdout, stderr } = ended
  const printed = defined({ stdout: stdout || undefined, stderr: stderr || undefined })
  if (result.type === 'error') return { status: 'error', output: errorOutput(name, result.error), ...printed }
  if (result.type === 'none') return { ...answerWithoutResult(name, process.ending), ...printed }
  const { value, blocks: changes } = result
  const output = value ?? 'None'
  if (changes.length === 0) return { status: 'success', output, ...printed }
  const planned = planWrites(changes, await blocks())
  if (typeof planned === 'string') return { status: 'error', output: planned, ...printed }
  return { status: 'success', output, writes: planned, ...printed }
}

/** The writes of a tool that changed `agent_state.memory`, or why they are refused. */
function planWrites(changes: readonly BlockChange[], blocks: readonly Block[]): ToolWrite[] | string {
  const writes: ToolWrite[] = []
  for (const { label, before, after } of changes) {
    const block = blocks.find((one) => one.label === label)
    if (!block || block.value !== before) return STALE_WRITE_OUTPUT
    const edited = rewriteText(block, after)
    if (edited.type === 'refused') return `The tool ran, but its change of memory was refused: ${edited.reason}`
    writes.push({ type: 'replace-block', blockId: block.id, value: edited.value, version: block.version })
  }
  return writes
}

function answerWithoutResult(name: string, ending: ProcessEnding | undefined): ToolAnswer {
  switch (ending?.type) {
    case undefined:
    case 'lost':
      return {
        status: 'unknown',
        output: `${name} was interrupted: its sandbox or the machine stopped while it ran. It may or may not have taken effect. Check before repeating.`,
      }
    case 'exited':
      return failed(name, `the tool ended its own process (exit code ${ending.code}) before it returned`)
    case 'over-limit':
      return failed(name, `the tool went over the ${ending.limit} limit of its sandbox and was ended`)
    case 'killed':
      return failed(name, ending.why ? KILLED[ending.why] : `the process of the tool was ended by ${ending.signal}`)
  }
}

const KILLED = {
  asked: 'the process of the tool was ended on request',
  cancelled: 'the tool was ended because the run was cancelled',
  'timed-out': 'the tool took too long and was ended',
  removed: 'the tool was ended with everything else in its workspace',
}

const failed = (name: string, why: string): ToolAnswer => ({
  status: 'error',
  output: errorOutput(name, `RuntimeError: ${why}`),
})

export const errorOutput = (name: string, error: string): string => {
  const output = `Error executing function ${name}: ${error}`
  return output.length <= MAX_ERROR_CHARACTERS ? output : `${output.slice(0, MAX_ERROR_CHARACTERS - 1).toWellFormed()}…`
}
