import type { RawCall } from '../core/answer.ts'
import { defined } from '../core/defined.ts'
import { canonicalJson, type Json, type JsonObject } from '../core/json.ts'
import { withoutOptionalNulls } from '../core/optional-nulls.ts'
import type { ToolCall } from '../core/tool-call.ts'
import type { Digest } from '../ports/digest.ts'
import type { Tool, ToolRegistry } from '../ports/tool.ts'

type ResolveCallsOptions = {
  tools: ToolRegistry
  /** Names of the tools that the model may call. */
  allowed: readonly string[]
  digest: Digest
  newCallId: () => string
  /** The tools were strict: null stands for an optional property that is left out. */
  isStrict?: boolean
  /** Why the tool rules forbid a tool after these calls of the same answer; absent without tool rules. */
  constraint?(tool: string, before: readonly string[]): string | undefined
  /** The arguments that the tool rules set for this call; they replace those of the model. */
  setArguments?(tool: string, before: readonly string[]): JsonObject | undefined
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
  const keyOf = ({ callId, tool }: RawCall) => JSON.stringify([callId, tool])
  const lastOf = new Map(raw.map((call, index) => [keyOf(call), index]))
  const earlier = new Map<string, Set<string>>()
  return raw.filter((call, index) => {
    if (call.callId === '') return true
    const key = keyOf(call)
    const inputs = earlier.get(key)
    if (call.json === '') return lastOf.get(key) === index && !inputs
    if (inputs?.has(call.json)) return false
    earlier.set(key, (inputs ?? new Set()).add(call.json))
    return true
  })
}

export const callDigest = (digest: Digest, tool: string, input: Json): string =>
  digest(`${tool}\n${canonicalJson(input)}`)

function resolveCall(raw: RawCall, options: ResolveCallsOptions & { before: readonly string[] }): ToolCall {
  const { tools, allowed, digest, constraint, before } = options
  const tool = allowed.includes(raw.tool) ? tools.find(raw.tool) : undefined
  const sent = parseInput(raw.json)
  const read = options.isStrict && tool && sent !== undefined ? withoutOptionalNulls(sent, tool.inputSchema) : sent
  const input = withArguments(read, options.setArguments?.(raw.tool, before))
  const base = { callId: raw.callId, tool: raw.tool, input: input ?? {} }
  const refusal = callRefusal(raw, { input, tool, tools, allowed }) ?? constraint?.(raw.tool, before)
  if (!tool || refusal !== undefined) {
    const inert = { needsApproval: false, effects: 'none', parallel: true } as const
    return { ...base, ...inert, digest: '', refusal: refusal ?? 'This call cannot run.' }
  }
  const { effects, sourceHash } = tool
  // With tool rules the order matters, so calls run sequentially.
  const parallel = tool.parallel && !constraint
  const reason = tool.approvalReason?.(base.input)
  const needsApproval = tool.needsApproval || reason !== undefined
  const guard = reason === undefined ? { needsApproval } : { needsApproval, askedBecause: reason }
  const speech = tool.isSpeech && !needsApproval ? { isSpeech: true as const } : {}
  const hash = callDigest(digest, raw.tool, base.input)
  return { ...base, ...guard, ...speech, effects, parallel, digest: hash, ...defined({ sourceHash }) }
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

function withArguments(input: Json | undefined, set: JsonObject | undefined): Json | undefined {
  const isObject = input !== null && typeof input === 'object' && !Array.isArray(input)
  return set && isObject ? { ...input, ...set } : input
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
