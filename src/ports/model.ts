import type { Part } from '../core/answer.ts'
import type { Json } from '../core/json.ts'
import type { MessageBody } from '../core/message.ts'

export type ToolSpec = { name: string; description: string; inputSchema: Json }

export type ModelRequest = {
  model: string
  system: string
  /** Already in the order and shape a model accepts; see core/history.ts. */
  messages: readonly MessageBody[]
  tools: readonly ToolSpec[]
}

/**
 * One vendor. A failure is a `failure` part, never a throw, and nothing is retried in here: the ladder in core decides.
 * When the signal aborts, the stream ends soon and its connection is closed.
 */
export type ModelProvider = { stream(request: ModelRequest, options: { signal: AbortSignal }): AsyncIterable<Part> }

export type Models = { find(provider: string): ModelProvider | undefined }
