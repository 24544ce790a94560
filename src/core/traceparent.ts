/** The context of a trace that a request brought (W3C Trace Context). */
type TraceContext = { traceId: string; spanId: string; isSampled: boolean }

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const ZEROS = /^0+$/
const SAMPLED = 1

/** Undefined: it is not valid, so it is ignored, as the W3C demands. A later version may have more fields at its end. */
export function parseTraceparent(header: unknown): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] =
    (typeof header === 'string' && FORM.exec(header.trim())) || []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED }
}

export const traceparentOf = ({ traceId, spanId, isSampled }: TraceContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

/** As it is stored: in the version that is known here. */
export function normalTraceparent(header: unknown): string | undefined {
  const context = parseTraceparent(header)
  return context && traceparentOf(context)
}

type Digest = (text: string) => string

/**
 * The span of a run. Ids follow from the id of the run, so a repeated export sends the same spans. The trace is that of
 * the request, or one whose id is the UUID of the run.
 */
export function runTraceContext(run: { id: string; traceparent?: string }, digest: Digest): TraceContext {
  const parent = parseTraceparent(run.traceparent)
  return {
    traceId: parent?.traceId ?? run.id.slice(run.id.indexOf('-') + 1).replaceAll('-', ''),
    spanId: spanIdOf(run.id, digest),
    isSampled: parent?.isSampled ?? true,
  }
}

export const spanIdOf = (name: string, digest: Digest): string => digest(name).slice(0, 16)
