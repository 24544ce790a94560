import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export type ReceivedSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  start: bigint
  end: bigint
  attributes: Record<string, unknown>
  events: { name: string; attributes: Record<string, unknown> }[]
  status: { code?: number; message?: string }
}

type Answer = (response: ServerResponse, count: number) => void

type Attribute = { key: string; value: Record<string, unknown> & { arrayValue?: { values: Attribute['value'][] } } }

/** A stand-in for an OpenTelemetry collector: OTLP over HTTP as JSON on loopback, with scripted faults. */
export async function startCollector(context: TestContext, answer: Answer = (response) => void response.end('{}')) {
  const requests: { path: string; headers: IncomingHttpHeaders; text: string }[] = []
  const spans: ReceivedSpan[] = []
  const metrics = new Map<string, { sum?: Points; gauge?: Points; histogram?: Points }>()
  const resources: Record<string, unknown>[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    requests.push({ path: request.url ?? '', headers: request.headers, text })
    const { resourceSpans = [], resourceMetrics = [] } = JSON.parse(text)
    for (const { resource, scopeSpans } of resourceSpans) {
      resources.push(plain(resource.attributes))
      for (const scope of scopeSpans) spans.push(...scope.spans.map(received))
    }
    for (const { scopeMetrics } of resourceMetrics)
      for (const scope of scopeMetrics) for (const metric of scope.metrics) metrics.set(metric.name, metric)
    answer(response, requests.length)
    server.emit('received')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    spans,
    metrics,
    resources,
    async until(isSo: () => boolean) {
      while (!isSo()) await once(server, 'received', { signal: AbortSignal.timeout(60_000) })
    },
  }
}

type Points = { dataPoints: Record<string, unknown>[]; isMonotonic?: boolean }

const received = (span: Record<string, never> & { attributes: Attribute[]; events: never[] }): ReceivedSpan => ({
  ...(span as object as ReceivedSpan),
  start: BigInt(span.startTimeUnixNano!),
  end: BigInt(span.endTimeUnixNano!),
  attributes: plain(span.attributes),
  events: span.events.map(({ name, attributes }) => ({ name, attributes: plain(attributes) })),
})

const plain = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, plainValue(value)]))

function plainValue(value: Attribute['value']): unknown {
  if (value.arrayValue) return value.arrayValue.values.map(plainValue)
  if ('intValue' in value) return Number(value.intValue)
  return Object.values(value)[0]
}
