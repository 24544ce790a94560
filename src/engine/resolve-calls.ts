import type { RawCall } from '../core/answer.ts'
import { canonicalJson, type Json } from '../core/json.ts'
import type { ToolCall } from '../core/tool-call.ts'
import type { Digest } from '../ports/digest.ts'
import type { Tool, ToolRegistry } from '../ports/tool.ts'

type ResolveCallsOptions = {
  tools: ToolRegistry
  /** Names of the tools that the model may call. */
  allowed: readonly string[]
  digest: Digest
  newCallId: () => string
  /** Why the tool rules forbid a tool after these calls of the same answer; absent without tool rules. */
  constraint?(tool: string, before: readonly string[]): string | undefined
}

/**
 * Resolves the model's raw calls: effects, approval requirement, digest. Calls that can never run (unknown tool,
 * unreadable or invalid arguments) are refused here, before any call starts, with a text for the model.
 */
export function resolveCalls(raw: readonly RawCall[], options: ResolveCallsOptions): ToolCall[] {
  const taken = new Set<string>()
  const before: string[] = []
  return withoutDuplicates(raw.filter(Boolean)).map((call) => {
    // Some servers repeat or omit ids; every call needs its own outcome.
    const callId = call.callId && !taken.has(call.callId) ? call.callId : options.newCallId()
    taken.add(callId)
    const resolved = resolveCall({ ...call, callId }, { ...options, before })
    if (!resolved.refusal) before.push(call.tool)
    return resolved
  })
}

/** Some servers send a call twice, or start it twice: calls with the same id, tool and arguments are one call. */
function withoutDuplicates(raw: readonly RawCall[]): RawCall[] {
  const isDuplicate = (one: RawCall, other: RawCall) =>
    one.callId !== '' &&
    one.callId === other.callId &&
    one.tool === other.tool &&
    (one.json === '' || one.json === other.json)
  return raw.filter((call, index) => {
    const isStartedAgain = call.json === '' && raw.slice(index + 1).some((later) => isDuplicate(call, later))
    return !isStartedAgain && !raw.slice(0, index).some((earlier) => isDuplicate(call, earlier) && earlier.json !== '')
  })
}

export const callDigest = (digest: Digest, tool: string, input: Json): string =>
  digest(`${tool}\n${canonicalJson(input)}`)

function resolveCall(raw: RawCall, options: ResolveCallsOptions & { before: readonly string[] }): ToolCall {
  const { tools, allowed, digest, constraint, before } = options
  const input = parseInput(raw.json)
  const tool = allowed.includes(raw.tool) ? tools.find(raw.tool) : undefined
  const base = { callId: raw.callId, tool: raw.tool, input: input ?? {} }
  const refusal = callRefusal(raw, { input, tool, tools, allowed }) ?? constraint?.(raw.tool, before)
  if (!tool || refusal !== undefined) {
    const inert = { needsApproval: false, effects: 'none', parallel: true } as const
    return { ...base, ...inert, digest: '', refusal: refusal ?? 'This call cannot run.' }
  }
  const { effects } = tool
  // With tool rules the order matters, so calls run sequentially.
  const parallel = tool.parallel && !constraint
  const reason = tool.approvalReason?.(base.input)
  const needsApproval = tool.needsApproval || reason !== undefined
  const guard = reason === undefined ? { needsApproval } : { needsApproval, askedBecause: reason }
  return { ...base, ...guard, effects, parallel, digest: callDigest(digest, raw.tool, base.input) }
}

function callRefusal(
  raw: RawCall,
  found: { input: Json | undefined; tool: Tool | undefined; tools: ToolRegistry; allowed: readonly string[] },
): string | undefined {
  if (!found.tool)
    return `There is no tool named "${raw.tool}". Available tools: ${found.allowed.join(', ') || 'none'}.`
  if (found.input === undefined)
    return `The arguments of ${raw.tool} are not valid JSON. Send them again as one JSON object. Received: ${raw.json.slice(0, 200)}`
  const fault = found.tools.inputFault(found.tool, found.input)
  return fault === undefined ? undefined : `Invalid arguments for ${raw.tool}: ${fault}`
}

/** Models send an empty text for a tool without parameters. */
function parseInput(json: string): Json | undefined {
  if (json.trim() === '') return {}
  try {
    return JSON.parse(json) as Json
  } catch {
    return undefined
  }
}
