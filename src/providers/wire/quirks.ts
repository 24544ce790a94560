/** How a server of a known language differs from its origin. All optional: none means the vendor itself. */
export type Quirks = {
  /** The name of the output limit; new OpenAI models take `max_completion_tokens` only. */
  outputCapField?: 'max_tokens' | 'max_completion_tokens'
  /** It must be asked for usage in a stream, or refuses to be asked. */
  streamUsage?: 'ask' | 'never-ask'
  /** How the key is sent; `none` for local servers. */
  auth?: 'bearer' | 'api-key' | 'x-api-key' | 'x-goog-api-key' | 'none'
  headers?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  /** Takes no images in tool results. */
  textOnlyResults?: true
  /** The path of the one call where it differs (Azure). */
  path?: string
  /** Reasoning comes, and is sent back, in this field. */
  reasoningField?: 'reasoning_content' | 'reasoning'
  /** A message with calls must have its reasoning field, be it empty. */
  reasoningWithCalls?: 'always'
  /** Thoughts with their signatures come as a list of details, and are wanted back as they came. */
  reasoningDetails?: true
  /** Asks for summaries of the reasoning; some accounts may not. */
  reasoningSummary?: 'auto' | 'concise' | 'detailed'
  /** Call ids must be nine letters or digits. */
  callIds?: 'nine-characters'
  /** Messages may not carry the name of who said them. */
  withoutNames?: true
}
