import type { CallToolResult, ListToolsResult } from '@modelcontextprotocol/sdk/types.js'
import type { JsonObject } from '../../core/json.ts'
import type { SafeFetch } from '../../ports/safe-fetch.ts'
import { type CallFault, classifyCallError, errorDetail } from './call-fault.ts'
import { loadSdk, type Sdk } from './load-sdk.ts'
import { watchedFetch } from './watched-fetch.ts'

export type McpEndpoint = {
  type: 'streamable_http' | 'sse'
  url: string
  headers: Record<string, string>
  fetch: SafeFetch
}

type McpToolRequest = { name: string; arguments: JsonObject; idempotencyKey: string }

export type McpCallResult =
  | { type: 'answered'; result: CallToolResult }
  /** The server understood and declined, in the words of its protocol. */
  | { type: 'declined'; detail: string }
  | { type: 'unreadable'; detail: string }
  | { type: 'stopped' }
  | CallFault

/** One session with one server, for one call at a time. */
export type McpConnection = {
  readonly isOpen: boolean
  call(
    request: McpToolRequest,
    options: { signal: AbortSignal; onProgress(text: string): void },
  ): Promise<McpCallResult>
  page(cursor: string | undefined, signal: AbortSignal): Promise<ListToolsResult>
  close(): Promise<void>
}

/** For what must be said before a connection is closed: a cancel, the end of the session. */
const PARTING_MS = 1_000
/** Deadlines are the caller's signals; the library's own must not come first. */
const NEVER_MS = 2 ** 31 - 1

/** Rejects when the server cannot be reached, does not speak the protocol, or `signal` aborts first. */
export async function openMcpConnection(endpoint: McpEndpoint, signal: AbortSignal): Promise<McpConnection> {
  const sdk = await loadSdk()
  const life: SessionState = { isOpen: true, call: NO_CALL }
  const wire = watchedFetch({
    fetch: endpoint.fetch,
    origin: new URL(endpoint.url).origin,
    onCall() {
      const { call } = life
      // Over the older transport answers come by another way; over the newer one the library may ask for the rest.
      return (resumable) => {
        call.hasEnded = true
        if (endpoint.type === 'streamable_http' && !resumable) call.lose('the answer ended before it was whole')
      }
    },
  })
  const transport = transportTo(endpoint, { sdk, fetch: wire.fetch })
  const client = new sdk.Client(
    { name: 'holdfast', version: '1' },
    // Never used by what is asked here; the library's usual one would compile schemas of strangers into code.
    { capabilities: {}, jsonSchemaValidator: new sdk.CfWorkerJsonSchemaValidator() },
  )
  client.onclose = () => {
    life.isOpen = false
    life.call.lose('the connection was closed')
  }
  client.onerror = (error) => {
    // Of all it reports these two mean that no answer can come: the older transport's stream broke, the newer one's rest
    // could not be had.
    const isOver = error instanceof sdk.SseError || (life.call.hasEnded && /Maximum reconnection/.test(error.message))
    if (isOver) {
      life.isOpen = false
      life.call.lose(errorDetail(error))
    }
  }

  const close = async () => {
    life.isOpen = false
    if ('terminateSession' in transport) await within(PARTING_MS, transport.terminateSession())
    await within(PARTING_MS, client.close())
  }

  try {
    await until(signal, client.connect(transport, { signal, timeout: NEVER_MS }))
  } catch (error) {
    await within(PARTING_MS, client.close())
    throw error
  }

  return {
    get isOpen() {
      return life.isOpen
    },
    close,
    page: (cursor, stop) =>
      client.request(
        { method: 'tools/list', params: cursor === undefined ? {} : { cursor } },
        sdk.ListToolsResultSchema,
        {
          signal: stop,
          timeout: NEVER_MS,
        },
      ),
    async call({ name, arguments: input, idempotencyKey }, { signal: stop, onProgress }) {
      if (stop.aborted) return { type: 'stopped' }
      const { promise: lost, resolve } = Promise.withResolvers<McpCallResult>()
      life.call = { hasEnded: false, lose: (detail) => resolve({ type: 'lost', detail }) }
      const params = { name, arguments: input, _meta: { 'holdfast/idempotency-key': idempotencyKey } }
      const answer = client.request({ method: 'tools/call', params }, sdk.CallToolResultSchema, {
        signal: stop,
        timeout: NEVER_MS,
        onprogress: ({ progress, total, message }) =>
          onProgress(message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)),
      })
      const end = answer.then(
        (result): McpCallResult => ({ type: 'answered', result: result as CallToolResult }),
        (error): McpCallResult => endOf(error, { isStopped: stop.aborted, isOpen: life.isOpen, sdk }),
      )
      const first = await Promise.race([end, lost])
      // The connection is closed next, and with it whatever is still on its way.
      if (first.type === 'stopped') await within(PARTING_MS, wire.cancelSent)
      return first
    },
  }
}

/** `call` is the one that is being made: what ends late of an earlier one is none of its business. */
type SessionState = { isOpen: boolean; call: { hasEnded: boolean; lose(detail: string): void } }

const NO_CALL: SessionState['call'] = { hasEnded: false, lose: () => undefined }

function endOf(
  error: unknown,
  { isStopped, isOpen, sdk }: { isStopped: boolean; isOpen: boolean; sdk: Sdk },
): McpCallResult {
  if (isStopped) return { type: 'stopped' }
  if (error instanceof sdk.McpError && isOpen) return { type: 'declined', detail: error.message }
  if ((error as Error)?.name === 'ZodError' || Array.isArray((error as { issues?: unknown })?.issues))
    return { type: 'unreadable', detail: 'what it answered is not the result of a tool' }
  return classifyCallError(error)
}

function transportTo({ type, url, headers }: McpEndpoint, { sdk, fetch }: { sdk: Sdk; fetch: SafeFetch }) {
  // The library follows redirects within the same origin only; `watchedFetch` sees to it that nothing goes elsewhere.
  const options = { fetch, requestInit: { headers } }
  return type === 'sse'
    ? new sdk.SSEClientTransport(new URL(url), options)
    : new sdk.StreamableHTTPClientTransport(new URL(url), options)
}

/** The work, or the signal's reason if that comes first. */
async function until<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise: stopped, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)))
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  stopped.catch(() => undefined)
  try {
    return await Promise.race([work, stopped])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Waits for it no longer than that, and does not mind how it goes. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work.catch(() => undefined), over])
  clearTimeout(timer)
}
