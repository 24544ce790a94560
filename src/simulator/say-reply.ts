import type { Asked } from './asked.ts'
import type { Reply } from './script.ts'
import type { Said, Tokens } from './voice.ts'

const CHARACTERS_PER_CHUNK = 16

export function sayReply(reply: Reply, asked: Asked, number: number): Said {
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
    model: asked.model,
    text: reply.text ?? '',
    reasoning: reply.reasoning,
    refusal: reply.refusal,
    calls,
    usage: tokensOf(reply, asked),
    finish: reply.finish ?? (reply.refusal !== undefined ? 'refusal' : calls.length > 0 ? 'tool-calls' : 'stop'),
    callIds: reply.callIds ?? 'once',
    wantsUsage: asked.wantsUsage,
    pieces: (text) => piecesOf(text, size),
  }
}

/** Where the script does not count, four characters are a token. */
function tokensOf(reply: Reply, asked: Asked): Tokens | undefined {
  if (reply.usage === 'none') return undefined
  const guess = (text: string) => Math.ceil(text.length / 4)
  const reasoning = guess(reply.reasoning?.text ?? '')
  const spoken = guess((reply.text ?? '') + (reply.refusal ?? '') + JSON.stringify(reply.calls ?? ''))
  return { input: guess(asked.raw), output: spoken + reasoning, cached: 0, written: 0, reasoning, ...reply.usage }
}

/** In whole characters: a vendor never cuts one. `bytesPerWrite` does. */
function piecesOf(text: string, size: number): string[] {
  const characters = Array.from(text)
  const pieces: string[] = []
  for (let at = 0; at < characters.length; at += size) pieces.push(characters.slice(at, at + size).join(''))
  return pieces
}
