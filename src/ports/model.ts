import type { Part } from '../core/answer.ts'
import type { FailureKind } from '../core/failure.ts'
import type { Json } from '../core/json.ts'
import type { MessageBody } from '../core/message.ts'
import type { Effort, ModelSettings } from '../core/model-settings.ts'
import type { RequestAdjustments } from '../core/request-adjustments.ts'
import type { Grant } from './credentials.ts'

export type ToolSpec = { name: string; description: string; inputSchema: Json }

export type ModelRequest = {
  model: string
  system: string
  /** Already in an order that models accept; see core/history.ts. */
  messages: readonly MessageBody[]
  tools: readonly ToolSpec[]
  /** The model must call a tool. Absent: the model chooses. */
  mustCall?: boolean
  adjustments?: RequestAdjustments
  /** Maximum output tokens. Absent: the provider's limit, or the client's default for APIs that require a value. */
  outputCap?: number
  effort?: Effort
  /** What the application asks of the answer. `maxOutputTokens` is already part of `outputCap`. */
  settings?: ModelSettings
}

export type ModelStreamOptions = { signal: AbortSignal; grant?: Grant }

/** Known limits of a model; absent means unknown. */
export type ModelFacts = { window?: number; maxOutput?: number }

/**
 * One vendor. Failures are `failure` parts, never thrown, and nothing is retried here: the ladder in core decides. When
 * the signal aborts, the stream ends soon and its connection is closed.
 */
export type ModelProvider = {
  stream(request: ModelRequest, options: ModelStreamOptions): AsyncIterable<Part>
  /**
   * Where requests go, and whether it is an aggregator that pools and retries by itself. Absent: no network is used.
   */
  /** `keyAdvice`: how to set the key, for a provider that needs one. */
  endpoint?: { baseUrl: string; isAggregator: boolean; needsKey?: boolean; keyAdvice?: string }
  /** `adjustments`: a request without the long-context beta has the smaller window. */
  factsOf?(model: string, adjustments?: RequestAdjustments): ModelFacts
  /** Advice for the operator when the ladder is exhausted. */
  adviceFor?(kind: FailureKind): string
  /** Closes pooled connections; the next request opens new ones. */
  renewConnections?(): Promise<void>
}

export type Models = { find(provider: string): ModelProvider | undefined }
