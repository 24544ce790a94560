import { defined } from '../core/defined.ts'
import { namedErrorText } from '../core/error-text.ts'
import type { AgentId, ConversationId, MessageId, OrganizationId, RunId } from '../core/id.ts'
import { settle, type ToolCall, type ToolOutcome } from '../core/tool-call.ts'
import type { ToolWrite } from '../core/tool-write.ts'
import type { Clock } from '../ports/clock.ts'
import type { Digest } from '../ports/digest.ts'
import type {
  OutputSpill,
  Tool,
  ToolAnswer,
  ToolContext,
  ToolRegistry,
  ToolStopReason,
  Verification,
} from '../ports/tool.ts'
import { callDigest } from './resolve-calls.ts'

/** How long a tool may continue after its signal is aborted. */
const ABORT_GRACE_MS = 5_000

/** Reason for aborts that only clean up. Without one Node creates an error with a stack each time: 20 µs a turn. */
export const CLEANUP_REASON = 'over'

export type CallContext = {
  /** The answer the calls belong to: a model may repeat a call with the same id in a later answer. */
  answerId: MessageId
  organizationId: OrganizationId
  agentId: AgentId
  conversationId: ConversationId
  runId: RunId
  tools: ToolRegistry
  spill: OutputSpill
  clock: Clock
  digest: Digest
  /** Aborted when the run is cancelled or this process stops. */
  signal: AbortSignal
  progress(callId: string, text: string): void
}

/** The outcome of a call, and the writes to commit with it. */
export type EndedCall = { outcome: ToolOutcome; writes?: ToolWrite[] }

/** Runs one call. A tool may throw, hang, ignore the abort or print too much: the call has exactly one outcome. */
export async function executeCall(call: ToolCall, context: CallContext): Promise<EndedCall> {
  const tool = context.tools.find(call.tool)
  if (!tool) return failedCall(call, `The tool "${call.tool}" is no longer available.`)
  if (callDigest(context.digest, call.tool, call.input) !== call.digest)
    return failedCall(call, 'The arguments of this call changed after it was recorded. It did not run.')
  // An approval is for the source that the person could read.
  if (call.sourceHash !== undefined && call.sourceHash !== tool.sourceHash)
    return failedCall(call, `The source of ${call.tool} was changed after this call was recorded. It did not run.`)

  // One controller for cancel and timeout; AbortSignal.any would cost as much as the rest of this function.
  const stop = new AbortController()
  const done = new AbortController()
  const { promise: stopped, resolve: resolveStopped } = Promise.withResolvers<void>()
  const halt = (why: ToolStopReason) => {
    stop.abort(why)
    resolveStopped()
  }
  const cancel = () => halt(context.signal.reason === 'shutdown' ? 'shutdown' : 'cancelled')
  context.signal.addEventListener('abort', cancel)
  if (context.signal.aborted) cancel()
  void context.clock.sleep(tool.timeoutMs, done.signal).then(() => {
    if (!done.signal.aborted) halt('timeout')
  })
  try {
    const answer = await Promise.race([
      runTool(tool, call, toolContextOf(call, context, stop.signal)),
      graceExpired(context.clock, stopped, done.signal),
    ])
    if (answer !== 'grace-expired') return await limitOutput(call, tool, { answer, spill: context.spill })
    if (context.signal.aborted) return { outcome: settle(call.callId, 'cancelled-while-running') }
    const output = `The tool did not finish within ${tool.timeoutMs} ms and did not stop when told to. It may or may not have taken effect.`
    return { outcome: { callId: call.callId, status: 'unknown', output } }
  } finally {
    context.signal.removeEventListener('abort', cancel)
    done.abort(CLEANUP_REASON)
  }
}

/** Asks a verifiable tool for the outcome of an interrupted execution. */
export async function verifyCall(call: ToolCall, context: CallContext): Promise<Verification> {
  const tool = context.tools.find(call.tool)
  if (!tool?.verify) return { type: 'unknown' }
  try {
    return await tool.verify(call.input, toolContextOf(call, context, context.signal))
  } catch {
    // After a failed verification the outcome is unknown, which is the result the model gets.
    return { type: 'unknown' }
  }
}

async function runTool(tool: Tool, call: ToolCall, context: ToolContext): Promise<ToolAnswer> {
  try {
    return await tool.run(call.input, context)
  } catch (error) {
    return { status: 'error', output: `Error executing function ${tool.name}: ${namedErrorText(error)}` }
  }
}

/** Resolves when the grace period after an abort is over; never without an abort. */
async function graceExpired(clock: Clock, stopped: Promise<void>, done: AbortSignal): Promise<'grace-expired'> {
  await stopped
  await clock.sleep(ABORT_GRACE_MS, done)
  return 'grace-expired'
}

function toolContextOf(call: ToolCall, context: CallContext, signal: AbortSignal): ToolContext {
  const { organizationId, agentId, conversationId, runId, answerId, digest } = context
  return {
    signal,
    organizationId,
    agentId,
    conversationId,
    runId,
    callId: call.callId,
    // Derived from the answer's call and not from the worker, so that every execution has the same key.
    idempotencyKey: digest([organizationId, conversationId, answerId, call.callId, call.digest].join('\n')),
    progress: (text) => context.progress(call.callId, text),
  }
}

async function limitOutput(
  { callId }: ToolCall,
  tool: Tool,
  { answer: { writes, ...answer }, spill }: { answer: ToolAnswer; spill: OutputSpill },
): Promise<EndedCall> {
  const written = writes && writes.length > 0 ? { writes } : {}
  if (answer.output.length <= tool.outputLimit) return { outcome: { callId, ...answer }, ...written }
  const file = await saveToSpill(spill, callId, answer.output)
  const note = `[function output was truncated: ${answer.output.length} characters, limit ${tool.outputLimit}${file ? `; the whole is in ${file}` : ''}]`
  const output = `${answer.output.slice(0, tool.outputLimit)}\n${note}`
  return { outcome: { callId, ...answer, output, ...defined({ spill: file || undefined }) }, ...written }
}

async function saveToSpill(spill: OutputSpill, callId: string, output: string): Promise<string | undefined> {
  try {
    return await spill.save(callId, output)
  } catch {
    // Saving failed (disk full): the model still gets the truncated output, and the note names no file.
    return undefined
  }
}

const failedCall = (call: ToolCall, output: string): EndedCall => ({
  outcome: { callId: call.callId, status: 'error', output },
})
