import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart, LanguageModelV3Usage } from '@ai-sdk/provider'
import type { Part } from '../../core/answer.ts'
import { defined } from '../../core/defined.ts'
import type { Finish, Usage } from '../../core/event.ts'
import type { Failure } from '../../core/failure.ts'
import { joinMetadata, seal } from './sealed-metadata.ts'

type Metadata = Parameters<typeof seal>[1]
type Call = { index: number; hasJson: boolean }

/** Reads one answer of the SDK. The caller stops reading after a finish or a failure. */
export function newStreamPartReader(
  failureOf: (error: unknown) => Failure,
): (part: LanguageModelV3StreamPart) => Part[] {
  const metadata = new Map<string, Metadata | undefined>()
  const calls = new Map<string, Call>()

  return function read(part) {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        metadata.set(part.id, part.providerMetadata)
        return []
      case 'text-delta':
        keepMetadata(part)
        return part.delta ? [{ type: 'text-delta', text: part.delta }] : []
      case 'text-end': {
        const sealed = keepMetadata(part)
        return sealed ? [signed(seal('text', sealed))] : []
      }
      case 'reasoning-delta':
        keepMetadata(part)
        return part.delta ? [{ type: 'reasoning-delta', text: part.delta }] : []
      case 'reasoning-end':
        // Sent without metadata too: it marks the end of this thought and its origin.
        return [signed(seal('reasoning', keepMetadata(part) ?? {}))]
      case 'tool-input-start':
        return part.providerExecuted ? [] : [startCall(part.id, part.toolName)]
      case 'tool-input-delta':
        return addJson(part.id, part.delta)
      case 'tool-call':
        return part.providerExecuted ? [] : takeCall(part)
      case 'file':
        return [
          { type: 'text-delta', text: `[A file of type ${part.mediaType} came with this answer and was not kept.]` },
        ]
      case 'finish':
        return [{ type: 'usage', usage: usageOf(part.usage) }, ...finished(part.finishReason)]
      case 'error':
        return [{ type: 'failure', failure: failureOf(part.error) }]
      case 'tool-input-end':
      case 'tool-approval-request':
      case 'tool-result':
      case 'source':
      case 'stream-start':
      case 'response-metadata':
      case 'raw':
        return []
    }
  }

  function keepMetadata({ id, providerMetadata }: { id: string; providerMetadata?: Metadata }): Metadata | undefined {
    const joined = joinMetadata(metadata.get(id), providerMetadata)
    metadata.set(id, joined)
    return joined
  }

  function startCall(callId: string, tool: string, signature?: string): Part {
    const index = calls.get(callId)?.index ?? calls.size
    if (!calls.has(callId)) calls.set(callId, { index, hasJson: false })
    return { type: 'call-start', index, callId, tool, ...defined({ signature: signature || undefined }) }
  }

  function addJson(callId: string, json: string): Part[] {
    const call = calls.get(callId)
    if (!call || !json) return []
    call.hasJson = true
    return [{ type: 'call-delta', index: call.index, json }]
  }

  /** The complete call: the only event of a call whose input is not streamed, and the only one with metadata. */
  function takeCall(part: Extract<LanguageModelV3StreamPart, { type: 'tool-call' }>): Part[] {
    const { toolCallId, toolName, input, providerMetadata } = part
    const signature = providerMetadata ? seal('call', providerMetadata) : undefined
    const start = calls.has(toolCallId) && !signature ? [] : [startCall(toolCallId, toolName, signature)]
    return [...start, ...(calls.get(toolCallId)!.hasJson ? [] : addJson(toolCallId, input))]
  }
}

const signed = (signature: string): Part => ({ type: 'reasoning-signature', signature, origin: 'ai-sdk' })

const OUTCOMES: Record<LanguageModelV3FinishReason['unified'], Finish | Failure> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool-calls',
  other: 'stop',
  'content-filter': { kind: 'content-refused', detail: 'the provider filtered the answer' },
  error: { kind: 'server-error', detail: 'the provider ended the answer with an error' },
}

/** The SDK ends a broken stream with `other` and no raw reason; that is not a finish. */
function finished({ unified, raw }: LanguageModelV3FinishReason): Part[] {
  if (unified === 'other' && raw === undefined) return []
  const outcome = OUTCOMES[unified]
  if (typeof outcome === 'string') return [{ type: 'finish', finish: outcome }]
  return [
    { type: 'failure', failure: { ...outcome, ...defined({ code: raw || undefined }), mayHaveBeenAccepted: true } },
  ]
}

const usageOf = ({ inputTokens, outputTokens }: LanguageModelV3Usage): Usage => ({
  promptTokens: inputTokens.total ?? 0,
  completionTokens: outputTokens.total ?? 0,
  ...defined({
    cachedTokens: inputTokens.cacheRead,
    cacheWriteTokens: inputTokens.cacheWrite,
    reasoningTokens: outputTokens.reasoning,
  }),
})
