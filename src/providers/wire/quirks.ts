/** How a server differs from the original vendor of its dialect. All fields are optional. */
export type Quirks = {
  /** The field of the output limit; newer OpenAI models accept `max_completion_tokens` only. */
  outputCapField?: 'max_tokens' | 'max_completion_tokens'
  /** Whether the request asks for usage in the stream; some servers reject the option. */
  streamUsage?: 'ask' | 'never-ask'
  /** How the key is sent; `none` for local servers. */
  auth?: 'bearer' | 'api-key' | 'x-api-key' | 'x-goog-api-key' | 'none'
  headers?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  /** Rejects images in tool results. */
  textOnlyResults?: true
  /** The path of the model request, where it differs (Azure). */
  path?: string
  /** The field that carries reasoning in both directions. */
  reasoningField?: 'reasoning_content' | 'reasoning'
  /** A message with calls must have the reasoning field, even if it is empty. */
  reasoningWithCalls?: 'always'
  /** Signed thoughts arrive as a list of details and must be sent back unchanged. */
  reasoningDetails?: true
  /** One parameter for the reasoning of every model: an effort or a budget. */
  reasoningParameter?: 'unified'
  /** Requests summaries of the reasoning, which some accounts may not use. */
  reasoningSummary?: 'auto' | 'concise' | 'detailed'
  /** Passes `cache_control` of a text part through to the models of this family, which cache nothing without it. */
  cacheMarks?: 'claude'
  /** The instructions are always there, even if they are empty. */
  instructions?: 'always'
  /** Rejects an output limit. */
  outputCap?: 'never-send'
  /** This header announces images in the request. */
  imageHeader?: Readonly<Record<string, string>>
  /** Call ids must be nine letters or digits. */
  callIds?: 'nine-characters'
  /** Messages must not carry the name of their author. */
  withoutNames?: true
}
