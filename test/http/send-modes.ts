import type { Letta } from '@letta-ai/letta-client'

/** The five send modes, which give the same result. */
export const MODES = ['blocking', 'step stream', 'token stream', 'background', 'async'] as const
export type Mode = (typeof MODES)[number]

// biome-ignore lint/suspicious/noExplicitAny: tests inspect untyped answers
export type WireValue = any

export type Reply = {
  /** Slices, in order; deltas of one slice are joined. */
  messages: WireValue[]
  stopReason: string
  usage?: WireValue
  runId: string
  /** The raw events of a stream. */
  events: WireValue[]
}

type SendInput = { agentId: string; body: Record<string, unknown> }

export async function sendIn(mode: Mode, client: Letta, { agentId, body }: SendInput): Promise<Reply> {
  switch (mode) {
    case 'blocking': {
      const response: WireValue = await client.agents.messages.create(agentId, body as never)
      const runId = response.usage.run_ids[0]
      return {
        messages: response.messages,
        stopReason: response.stop_reason.stop_reason,
        usage: response.usage,
        runId,
        events: [],
      }
    }
    case 'step stream':
      return readStream(await client.agents.messages.create(agentId, { ...body, streaming: true } as never))
    case 'token stream':
      return readStream(
        await client.agents.messages.create(agentId, { ...body, streaming: true, stream_tokens: true } as never),
      )
    case 'background': {
      const options = { streaming: true, stream_tokens: true, background: true }
      return readStream(await client.agents.messages.create(agentId, { ...body, ...options } as never))
    }
    case 'async': {
      const run = await client.agents.messages.createAsync(agentId, body as never)
      const ended = await waitUntilSettled(client, run.id)
      const all: WireValue[] = []
      for await (const message of client.runs.messages.list(run.id)) all.push(message)
      const messages = all.filter(
        ({ message_type }) => !['user_message', 'system_message', 'approval_response_message'].includes(message_type),
      )
      return { messages, stopReason: ended.stop_reason!, runId: run.id, events: [] }
    }
  }
}

/** Reads a stream to its end and joins the pieces of each message. */
export async function readStream(stream: unknown): Promise<Reply> {
  const events: WireValue[] = []
  for await (const event of stream as AsyncIterable<WireValue>) events.push(event)
  return replyOf(events)
}

export function replyOf(events: WireValue[]): Reply {
  const messages: WireValue[] = []
  for (const event of events) {
    if (['ping', 'stop_reason', 'usage_statistics'].includes(event.message_type)) continue
    const last = messages.at(-1)
    const field = { assistant_message: 'content', reasoning_message: 'reasoning' }[event.message_type as string]
    const isSameSlice = last?.otid === event.otid && last?.message_type === event.message_type
    if (field && isSameSlice) last[field] += event[field]
    else if (event.tool_calls && !Array.isArray(event.tool_calls)) addCallPiece(messages, event)
    else messages.push({ ...event })
  }
  const stops = events.filter(({ message_type }) => message_type === 'stop_reason')
  const usage = events.find(({ message_type }) => message_type === 'usage_statistics')
  const runId = events.find(({ message_type }) => message_type === 'ping')?.run_id ?? messages[0]?.run_id
  return { messages, events, stopReason: stops.map(({ stop_reason }) => stop_reason).join(), usage, runId }
}

/** Joins the pieces of calls, so that the calls of a slice look as they do in the history. */
function addCallPiece(messages: WireValue[], { tool_calls: piece, ...event }: WireValue): void {
  const isSame = ({ otid, message_type }: WireValue) => otid === event.otid && message_type === event.message_type
  const slice = messages.find(isSame) ?? { ...event, tool_calls: [] }
  if (!messages.includes(slice)) messages.push(slice)
  const known = slice.tool_calls.find((call: WireValue) => call.tool_call_id === piece.tool_call_id)
  if (known) known.arguments += piece.arguments
  else slice.tool_calls.push({ ...piece })
  slice.tool_call = slice.tool_calls[0]
}

export async function waitUntilSettled(client: Letta, runId: string): Promise<WireValue> {
  for (;;) {
    const run = await client.runs.retrieve(runId)
    if (run.status !== 'created' && run.status !== 'running') return run
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** The messages of an agent without the system prompt. */
export async function history(client: Letta, agentId: string, query: object = {}): Promise<WireValue[]> {
  const page = await client.agents.messages.list(agentId, query as never)
  return (page.getPaginatedItems() as WireValue[]).filter((message) => !isSystemPrompt(message))
}

/** The system prompt has no run. */
export const isSystemPrompt = ({ message_type, run_id }: WireValue): boolean =>
  message_type === 'system_message' && run_id === null

export const typesIn = (messages: readonly WireValue[]): string[] => messages.map(({ message_type }) => message_type)
