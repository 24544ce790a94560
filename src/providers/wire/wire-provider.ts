import { Agent, type Dispatcher } from 'undici'
import type { Part } from '../../core/answer.ts'
import { defined } from '../../core/defined.ts'
import { errorText } from '../../core/error-text.ts'
import type { Failure } from '../../core/failure.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ModelFacts, ModelProvider, ModelRequest, ModelStreamOptions } from '../../ports/model.ts'
import { withAdjustedImages } from '../images/adjust-images.ts'
import { type Deadlines, deadlinesFor } from './deadlines.ts'
import type { Classify, ClassifyTransport, EncodedRequest, WireDialect } from './dialect.ts'
import { openExchange } from './exchange.ts'
import type { Quirks } from './quirks.ts'
import { withWholeCharacters } from './whole-characters.ts'

export type WireProviderOptions = {
  provider: string
  dialect: WireDialect
  baseUrl: string
  quirks?: Quirks
  deadlines?: Deadlines
  isAggregator?: boolean
  /** Without a credential the request is not sent. */
  needsKey?: boolean
  facts?: (model: string) => ModelFacts
  classify: Classify
  classifyTransport: ClassifyTransport
  clock?: Pick<Clock, 'monotonic'>
}

/** A provider that speaks a dialect over HTTP: one request, one stream, no retry. */
export function newWireProvider(options: WireProviderOptions): ModelProvider {
  const { provider, dialect, baseUrl, quirks = {}, deadlines = {}, isAggregator = false, facts } = options
  const now = options.clock ? () => options.clock!.monotonic() : () => performance.now()
  let agent = newAgent(deadlines)

  function open(request: ModelRequest, { signal, grant }: ModelStreamOptions): AsyncIterator<Part, void, void> {
    const base = parseBase(grant?.baseUrl ?? baseUrl)
    if ('failure' in base) return oneFailure(base.failure)
    const encoded = encode(request, grant)
    if ('failure' in encoded) return oneFailure(encoded.failure)
    const { model } = request
    const body = Buffer.from(withWholeCharacters(encoded.body))
    const parts = openExchange({
      dispatcher: agent,
      options: {
        origin: base.origin,
        path: withQuery(base.path + encoded.path, quirks.query),
        method: 'POST',
        headers: { ...STREAM_HEADERS, ...quirks.headers, ...grant?.headers, ...encoded.headers },
        body,
      },
      deadlines: deadlinesFor(deadlines, body.length),
      signal,
      now,
      newDecoder: (headers) => dialect.newDecoder({ provider, model, headers, classify: options.classify }),
      classify: (refusal) => options.classify({ provider, model, at: Date.now(), ...refusal }),
      classifyTransport: options.classifyTransport,
    })
    return encoded.leftOut?.length ? withNote(encoded.leftOut, parts) : parts
  }

  function encode(request: ModelRequest, grant: ModelStreamOptions['grant']): EncodedRequest | { failure: Failure } {
    try {
      return dialect.encode(request, grant ? { grant, quirks } : { quirks })
    } catch (error) {
      const reason = errorText(error)
      return { failure: { kind: 'invalid-request', detail: `the request could not be encoded: ${reason}` } }
    }
  }

  return {
    endpoint: { baseUrl, isAggregator, needsKey: options.needsKey ?? false },
    stream: (request, streamOptions) =>
      withAdjustedImages(request, (adjusted) => openOnFirstRead(() => open(adjusted, streamOptions))),
    ...defined({ factsOf: facts }),
    async renewConnections() {
      const old = agent
      agent = newAgent(deadlines)
      // Close gracefully: other turns may still be streaming on the old connections.
      old.close().catch(() => {})
    },
  }
}

const STREAM_HEADERS = { 'content-type': 'application/json', accept: 'text/event-stream' }

/** Long enough for a tool call between two requests of a turn; a shorter keep-alive of the server wins. */
const IDLE_MS = 30_000

/** The exchange enforces the deadlines; the connector's later timeout only closes abandoned sockets. */
function newAgent({ connectMs }: Deadlines): Dispatcher {
  const connector = deadlinesFor(connectMs === undefined ? {} : { connectMs }, 0).connectMs + 1_000
  const keepAliveTimeout = IDLE_MS
  return new Agent({
    pipelining: 1,
    keepAliveTimeout,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connector },
  })
}

type Base = { origin: string; path: string }
const bases = new Map<string, Base>()

function parseBase(baseUrl: string): Base | { failure: Failure } {
  const known = bases.get(baseUrl)
  if (known) return known
  if (!URL.canParse(baseUrl))
    return { failure: { kind: 'unreachable', detail: `the base URL "${baseUrl}" is not a URL` } }
  const { protocol, origin, pathname } = new URL(baseUrl)
  if (protocol !== 'http:' && protocol !== 'https:')
    return { failure: { kind: 'unreachable', detail: `the base URL "${baseUrl}" is neither http nor https` } }
  const base = { origin, path: pathname.replace(/\/+$/, '') }
  bases.set(baseUrl, base)
  return base
}

function withQuery(path: string, query: Quirks['query']): string {
  if (!query) return path
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(query)}`
}

/** The request is sent with the first read. */
function openOnFirstRead(open: () => AsyncIterator<Part, void, void>): AsyncIterable<Part> {
  return {
    [Symbol.asyncIterator]() {
      let opened: AsyncIterator<Part, void, void> | undefined
      return {
        next() {
          opened ??= open()
          return opened.next()
        },
        return: async () => opened?.return?.() ?? { done: true, value: undefined },
      }
    },
  }
}

/** Passing each part through a generator costs ticks, so only requests with a note do. */
async function* withNote(settings: string[], parts: AsyncIterator<Part, void, void>): AsyncGenerator<Part, void, void> {
  yield { type: 'settings-left-out', settings }
  yield* { [Symbol.asyncIterator]: () => parts }
}

async function* oneFailure(failure: Failure): AsyncGenerator<Part, void, void> {
  yield { type: 'failure', failure }
}
