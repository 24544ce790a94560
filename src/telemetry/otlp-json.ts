import type { MetricFamily } from '../ports/telemetry.ts'
import type { Attributes, AttributeValue, Span } from './span.ts'

/* OTLP in its JSON encoding: ids are hexadecimal, 64-bit numbers are text, enumerations are numbers. */

const SCOPE = { name: 'holdfast' }
const KIND = { internal: 1, server: 2, client: 3 } as const
const ERROR = 2
const CUMULATIVE = 2

export const traceRequest = (resource: Attributes, spans: readonly Span[]) => ({
  resourceSpans: [{ resource: resourceOf(resource), scopeSpans: [{ scope: SCOPE, spans: spans.map(otlpSpan) }] }],
})

export const metricRequest = (
  resource: Attributes,
  families: readonly MetricFamily[],
  span: { startAt: number; at: number },
) => ({
  resourceMetrics: [
    {
      resource: resourceOf(resource),
      scopeMetrics: [{ scope: SCOPE, metrics: families.map((family) => otlpMetric(family, span)) }],
    },
  ],
})

const resourceOf = (attributes: Attributes) => ({ attributes: otlpAttributes(attributes) })

/** Milliseconds may have a fraction. */
const nanoseconds = (ms: number): string => String(BigInt(Math.round(ms * 1_000)) * 1_000n)

const otlpSpan = ({ kind, startAt, endAt, attributes, marks, error, ...ids }: Span) => ({
  ...ids,
  kind: KIND[kind],
  startTimeUnixNano: nanoseconds(startAt),
  endTimeUnixNano: nanoseconds(endAt),
  attributes: otlpAttributes(attributes),
  events: marks.map(({ at, name, attributes: more }) => ({
    timeUnixNano: nanoseconds(at),
    name,
    attributes: otlpAttributes(more),
  })),
  status: error === undefined ? {} : { code: ERROR, message: error },
})

const otlpAttributes = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: anyValue(value) }]))

function anyValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map(anyValue) } }
}

function otlpMetric({ name, help, type, values }: MetricFamily, { startAt, at }: { startAt: number; at: number }) {
  const times = { startTimeUnixNano: nanoseconds(startAt), timeUnixNano: nanoseconds(at) }
  const about = { name, description: help }
  if (type === 'histogram')
    return { ...about, histogram: { aggregationTemporality: CUMULATIVE, dataPoints: histogramPoints(values, times) } }
  const dataPoints = values.map(({ value, labels }) => ({
    ...times,
    asDouble: value,
    attributes: otlpAttributes(textOf(labels)),
  }))
  if (type === 'counter')
    return { ...about, sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } }
  return { ...about, gauge: { dataPoints } }
}

const textOf = (labels: MetricFamily['values'][number]['labels']): Attributes =>
  Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, value === undefined ? value : String(value)]))

type Bucket = { le: number; count: number }

/** Prometheus counts each bucket with those below it; OTLP counts it alone, the last one without a bound. */
function histogramPoints(values: MetricFamily['values'], times: object) {
  const points = new Map<string, { labels: Attributes; buckets: Bucket[]; sum: number; count: number }>()
  for (const { value, labels: all, metricName = '' } of values) {
    const { le, ...labels } = all
    const key = JSON.stringify(labels)
    const point = points.get(key) ?? { labels: textOf(labels), buckets: [], sum: 0, count: 0 }
    points.set(key, point)
    if (metricName.endsWith('_sum')) point.sum = value
    else if (metricName.endsWith('_count')) point.count = value
    else if (le !== undefined)
      point.buckets.push({ le: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), count: value })
  }
  return [...points.values()].map(({ labels, buckets, sum, count }) => {
    const bounded = buckets.filter(({ le }) => Number.isFinite(le)).toSorted((one, other) => one.le - other.le)
    const counts = [...bounded.map((bucket) => bucket.count), count]
    return {
      ...times,
      attributes: otlpAttributes(labels),
      count: String(count),
      sum,
      explicitBounds: bounded.map(({ le }) => le),
      bucketCounts: counts.map((upTo, index) => String(upTo - (counts[index - 1] ?? 0))),
    }
  })
}
