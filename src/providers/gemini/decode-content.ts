import type {
  BlockedReason,
  Candidate,
  FinishReason,
  GenerateContentResponse,
  GenerateContentResponseUsageMetadata,
  Part as VendorPart,
} from '@google/genai'
import type { Part } from '../../core/answer.ts'
import { defined } from '../../core/defined.ts'
import type { Finish, Usage } from '../../core/event.ts'
import type { Failure, FailureKind } from '../../core/failure.ts'
import type { DecodeContext, Decoder } from '../wire/dialect.ts'

/** Every field of a received event may be missing. */
type Chunk = {
  candidates?: (Omit<Candidate, 'finishReason' | 'content'> & {
    finishReason?: string
    content?: { parts?: (VendorPart | null)[] | null } | null
  })[]
  promptFeedback?: { blockReason?: `${BlockedReason}`; blockReasonMessage?: string }
  usageMetadata?: GenerateContentResponse['usageMetadata']
  error?: { code?: number; message?: string; status?: string }
}

export function newContentDecoder({ provider, model, headers, classify }: DecodeContext): Decoder {
  let calls = 0
  let usage: Usage | undefined
  let emittedUsage: Usage | undefined
  let isOver = false

  function take({ data }: { data: string }): Part[] {
    if (isOver || data === '[DONE]') return []
    const chunk = parse(data)
    if (!chunk) return fail(malformed(`a chunk of the stream is not a JSON object: ${data.slice(0, 200)}`))
    if (chunk.error) return fail(refused(chunk.error, data))
    if (chunk.usageMetadata) usage = usageOf(chunk.usageMetadata)
    const { blockReason, blockReasonMessage } = chunk.promptFeedback ?? {}
    if (blockReason) return fail(blocked(blockReason, blockReasonMessage))
    const candidate = chunk.candidates?.[0]
    const parts = partsIn(candidate?.content?.parts)
    if (!candidate?.finishReason) return emittedUsage ? parts : [...parts, ...emitUsage()]
    const outcome = outcomeOf(candidate.finishReason, { hasCalls: calls > 0, message: candidate.finishMessage })
    if (typeof outcome !== 'string') return [...parts, ...fail(outcome)]
    isOver = true
    return [...parts, ...emitUsage(), { type: 'finish', finish: outcome }]
  }

  function partsIn(parts: readonly (VendorPart | null)[] | null | undefined): Part[] {
    if (!Array.isArray(parts)) return []
    return parts.flatMap((part) => (part ? readPart(part) : []))
  }

  function readPart({ text, thought, thoughtSignature: signature, functionCall }: VendorPart): Part[] {
    if (functionCall) {
      const index = calls++
      const { id = '', name = '', args } = functionCall
      return [
        { type: 'call-start', index, callId: id, tool: name, ...defined({ signature: signature || undefined }) },
        { type: 'call-delta', index, json: JSON.stringify(args ?? {}) },
      ]
    }
    const content: Part[] = text ? [{ type: thought ? 'reasoning-delta' : 'text-delta', text }] : []
    return signature ? [...content, { type: 'reasoning-signature', signature, origin: 'gemini' }] : content
  }

  /** Every chunk repeats the usage; only the first and the last are emitted. */
  function emitUsage(): Part[] {
    if (!usage || usage === emittedUsage) return []
    emittedUsage = usage
    return [{ type: 'usage', usage }]
  }

  function fail(failure: Failure): Part[] {
    isOver = true
    return [...emitUsage(), { type: 'failure', failure: { ...failure, mayHaveBeenAccepted: true } }]
  }

  function refused({ code }: NonNullable<Chunk['error']>, body: string): Failure {
    const status = typeof code === 'number' && code >= 400 ? { status: code } : {}
    return classify({ provider, model, headers, body, ...status })
  }

  return { take, end: () => (isOver ? [] : emitUsage()) }
}

type FinishContext = { hasCalls: boolean; message: string | undefined }

/** The finish or the failure kind for each finish reason. */
const OUTCOMES: Record<Exclude<`${FinishReason}`, 'STOP'>, Finish | FailureKind> = {
  MAX_TOKENS: 'length',
  CONTINUATION: 'length',
  SAFETY: 'content-refused',
  RECITATION: 'content-refused',
  LANGUAGE: 'content-refused',
  BLOCKLIST: 'content-refused',
  PROHIBITED_CONTENT: 'content-refused',
  SPII: 'content-refused',
  IMAGE_SAFETY: 'content-refused',
  IMAGE_PROHIBITED_CONTENT: 'content-refused',
  IMAGE_RECITATION: 'content-refused',
  MALFORMED_FUNCTION_CALL: 'malformed-answer',
  UNEXPECTED_TOOL_CALL: 'malformed-answer',
  TOO_MANY_TOOL_CALLS: 'malformed-answer',
  NO_IMAGE: 'malformed-answer',
  IMAGE_OTHER: 'malformed-answer',
  OTHER: 'malformed-answer',
  FINISH_REASON_UNSPECIFIED: 'malformed-answer',
}

/** Reasons that the SDK does not list yet. */
const NEWER: Record<string, FailureKind> = {
  MISSING_THOUGHT_SIGNATURE: 'signature-rejected',
  MALFORMED_RESPONSE: 'malformed-answer',
  MODEL_ARMOR: 'content-refused',
}

const KNOWN = new Map(Object.entries({ ...OUTCOMES, ...NEWER }))

function outcomeOf(reason: string, { hasCalls, message }: FinishContext): Finish | Failure {
  if (reason === 'STOP') return hasCalls ? 'tool-calls' : 'stop'
  const outcome = KNOWN.get(reason) ?? 'malformed-answer'
  if (outcome === 'length') return outcome
  return { kind: outcome as FailureKind, code: reason, detail: message || `the model stopped with ${reason}` }
}

const blocked = (reason: string, message: string | undefined): Failure => ({
  kind: 'content-refused',
  code: reason,
  detail: message || `the prompt was blocked: ${reason}`,
})

/** Thoughts are billed as output but counted separately; prompts of the vendor's own tools count as prompt. */
function usageOf(counts: Partial<GenerateContentResponseUsageMetadata>): Usage {
  const { thoughtsTokenCount: thoughts, cachedContentTokenCount: cached } = counts
  return {
    promptTokens: (counts.promptTokenCount ?? 0) + (counts.toolUsePromptTokenCount ?? 0),
    completionTokens: (counts.candidatesTokenCount ?? 0) + (thoughts ?? 0),
    ...defined({ cachedTokens: cached, reasoningTokens: thoughts }),
  }
}

const malformed = (detail: string): Failure => ({ kind: 'malformed-answer', detail })

function parse(data: string): Chunk | undefined {
  try {
    const value: unknown = JSON.parse(data)
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
