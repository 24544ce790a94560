/** The wire format of the SSE source: the part of an OpenAI-like chat stream that one turn needs. */
export type WireMessage =
  | { role: 'system' | 'user'; content: string }
  | { role: 'assistant'; content: string; tool_calls?: WireCall[] }
  | { role: 'tool'; tool_call_id: string; content: string }

export type WireCall = { id: string; type: 'function'; function: { name: string; arguments: string } }

export type WireChunk = {
  choices: {
    delta: { content?: string; tool_calls?: (WireCall & { index: number })[] }
    finish_reason: string | null
  }[]
  usage?: { prompt_tokens: number; completion_tokens: number }
}

/** One turn: three answers that end in a tool call and one that ends in text. */
export const TOOL_STEPS = 3
export const CHUNKS_PER_ANSWER = 25
/** The last chunk is the finish; the first three answers have a call before it. */
export const TEXT_DELTAS_PER_TURN = TOOL_STEPS * (CHUNKS_PER_ANSWER - 2) + (CHUNKS_PER_ANSWER - 1)
/** The input, four answers and three results. */
export const MESSAGES_PER_TURN = 1 + TOOL_STEPS + 1 + TOOL_STEPS

export const SYSTEM = 'You are a helpful assistant. Use your tools when they help; say so when one fails.'
export const QUESTION = 'What is the weather like in the three cities I told you about, and which one should I visit?'

export const WEATHER = {
  name: 'weather',
  description: 'The weather of a city, in one sentence.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

export const weatherIn = (city: string): string =>
  `It is sunny in ${city}, 24 degrees, with a light wind from the west.`

/** The messages of past turns in the wire format; the same on both sides. */
export function pastMessages(count: number): WireMessage[] {
  const turn: WireMessage[] = [{ role: 'user', content: QUESTION }]
  for (let step = 0; step < TOOL_STEPS; step++) {
    const id = `call_past_${step}`
    const call: WireCall = { id, type: 'function', function: { name: WEATHER.name, arguments: '{"city":"Lisbon"}' } }
    turn.push({ role: 'assistant', content: 'Let me look that up for you first. '.repeat(3), tool_calls: [call] })
    turn.push({ role: 'tool', tool_call_id: id, content: weatherIn('Lisbon') })
  }
  turn.push({ role: 'assistant', content: 'Lisbon it is: sunny, and a light wind. '.repeat(3) })
  // Whole turns from the end back: a history never begins with a result that has no call.
  const turns = Math.ceil(count / turn.length)
  const padding: WireMessage[] = Array.from({ length: count % turn.length }, () => turn[0]!)
  return [...padding, ...Array.from({ length: count % turn.length === 0 ? turns : turns - 1 }, () => turn).flat()]
}
