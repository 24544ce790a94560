import type { Part } from '../core/answer.ts'
import type { FailureKind } from '../core/failure.ts'
import type { Json } from '../core/json.ts'
import type { MessageBody } from '../core/message.ts'
import type { RequestAdjustments } from '../core/request-adjustments.ts'
import type { Grant } from './credentials.ts'

export type ToolSpec = { name: string; description: string; inputSchema: Json }

export type { RequestAdjustments as RequestShape }

export type ModelRequest = {
  model: string
  system: string
  /** Already in the order and shape a model accepts; see core/history.ts. */
  messages: readonly MessageBody[]
  tools: readonly ToolSpec[]
  /** One of the tools has to be called; absent: the model chooses. */
  mustCall?: boolean
  adjustments?: RequestAdjustments
  /** Output tokens at most; without it the provider's own limit, or the client's default where one must be named. */
  outputCap?: number
  /** The answer must be JSON that fits this schema. */
  outputSchema?: { name: string; schema: Json }
  effort?: 'low' | 'medium' | 'high'
}

export type ModelStreamOptions = { signal: AbortSignal; grant?: Grant }

/** What is known of one model; absent is unknown. */
export type ModelFacts = { window?: number; maxOutput?: number }

/**
 * One vendor. A failure is a `failure` part, never a throw, and nothing is retried in here: the ladder in core decides.
 * When the signal aborts, the stream ends soon and its connection is closed.
 */
export type ModelProvider = {
  stream(request: ModelRequest, options: ModelStreamOptions): AsyncIterable<Part>
  /** Where requests go, and whether it is an aggregator that pools and retries by itself. Absent: nothing leaves us. */
  endpoint?: { baseUrl: string; isAggregator: boolean; needsKey?: boolean }
  factsOf?(model: string): ModelFacts
  /** What a person can do when nothing is left to try. */
  adviceFor?(kind: FailureKind): string
  /** Closes the old connections, so that the next request makes new ones. */
  renewConnections?(): Promise<void>
}

export type Models = { find(provider: string): ModelProvider | undefined }
