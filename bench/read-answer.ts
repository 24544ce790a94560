import { createParser } from 'eventsource-parser'
import { request } from 'undici'
import { defined } from '../src/core/defined.ts'
import { SYSTEM, WEATHER, type WireChunk, type WireMessage } from './wire.ts'

/** Sends a request to the source and yields the chunks of each network read. Both sides use it, at the same cost. */
export async function* readAnswer(
  source: string,
  messages: readonly WireMessage[],
  signal?: AbortSignal,
): AsyncGenerator<WireChunk[]> {
  const { statusCode, body } = await request(source, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: requestBody(messages),
    ...defined({ signal }),
  })
  if (statusCode !== 200) throw new Error(`the source answered ${statusCode}`)
  let chunks: WireChunk[] = []
  const parser = createParser({
    onEvent: ({ data }) => {
      if (data !== '[DONE]') chunks.push(JSON.parse(data) as WireChunk)
    },
  })
  const decoder = new TextDecoder()
  for await (const bytes of body) {
    parser.feed(decoder.decode(bytes as Buffer, { stream: true }))
    if (chunks.length === 0) continue
    yield chunks
    chunks = []
  }
}

function requestBody(messages: readonly WireMessage[]): string {
  const { name, description, inputSchema } = WEATHER
  return JSON.stringify({
    model: 'bench',
    stream: true,
    messages: [{ role: 'system', content: SYSTEM }, ...messages],
    tools: [{ type: 'function', function: { name, description, parameters: inputSchema } }],
  })
}

/** For figures without the request: the source needs only the current turn to choose its answer. */
export function sinceInput<M extends { role: string }>(messages: readonly M[]): readonly M[] {
  return messages.slice(messages.findLastIndex((message) => message.role === 'user'))
}
