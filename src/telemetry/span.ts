export type AttributeValue = string | number | boolean | readonly string[]
export type Attributes = Readonly<Record<string, AttributeValue | undefined>>

export type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: 'internal' | 'server' | 'client'
  /** Milliseconds since 1970. */
  startAt: number
  endAt: number
  attributes: Attributes
  marks: readonly { at: number; name: string; attributes: Attributes }[]
  /** Absent: it did not fail. */
  error?: string
}
