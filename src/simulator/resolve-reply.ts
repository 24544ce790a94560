import type { ParsedModelRequest } from './parse-request.ts'
import type { ResolvedReply, Tokens } from './responder.ts'
import type { Reply } from './script.ts'

const CHARACTERS_PER_CHUNK = 16

export function resolveReply(reply: Reply, request: ParsedModelRequest, number: number): ResolvedReply {
  const shared = reply.callIds === 'shared'
  const calls = (reply.calls ?? []).map((call, at) => ({
    id: call.id ?? `call_${number}_${shared ? 1 : at + 1}`,
    name: call.name,
    json: call.json ?? JSON.stringify(call.arguments ?? {}),
    signature: call.signature,
  }))
  const size = reply.pace?.charactersPerChunk ?? CHARACTERS_PER_CHUNK
  return {
    number,
    model: request.model,
    text: reply.text ?? '',
    reasoning: reply.reasoning,
    refusal: reply.refusal,
    calls,
    usage: tokensOf(reply, request),
    finish: reply.finish ?? (reply.refusal !== undefined ? 'refusal' : calls.length > 0 ? 'tool-calls' : 'stop'),
    callIds: reply.callIds ?? 'once',
    wantsUsage: request.wantsUsage,
    pieces: (text) => piecesOf(text, size),
  }
}

/** Without usage in the script, four characters count as a token. */
function tokensOf(reply: Reply, request: ParsedModelRequest): Tokens | undefined {
  if (reply.usage === 'none') return undefined
  const guess = (text: string) => Math.ceil(text.length / 4)
  const reasoning = guess(reply.reasoning?.text ?? '')
  const spoken = guess((reply.text ?? '') + (reply.refusal ?? '') + JSON.stringify(reply.calls ?? ''))
  return { input: guess(request.raw), output: spoken + reasoning, cached: 0, written: 0, reasoning, ...reply.usage }
}

/** Splits at characters, as vendors do; `bytesPerWrite` splits anywhere. */
function piecesOf(text: string, size: number): string[] {
  const characters = Array.from(text)
  const pieces: string[] = []
  for (let at = 0; at < characters.length; at += size) pieces.push(characters.slice(at, at + size).join(''))
  return pieces
}
