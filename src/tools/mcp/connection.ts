import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type {
  CallToolResult,
  ListPromptsResult,
  ListResourcesResult,
  ListToolsResult,
} from '@modelcontextprotocol/sdk/types.js'
import type { jsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/types.js'
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
  /** The server answered with a protocol error. */
  | { type: 'declined'; detail: string }
  | { type: 'unreadable'; detail: string }
  | { type: 'stopped' }
  | CallFault

/** What a server lists, in pages. */
export type McpPage = { tools: ListToolsResult; resources: ListResourcesResult; prompts: ListPromptsResult }
export type McpList = keyof McpPage

/** A session with a server, for one call at a time. */
export type McpConnection = {
  readonly isOpen: boolean
  /** Grows when the server says that its list of tools changed. */
  readonly listVersion: number
  call(
    request: McpToolRequest,
    options: { signal: AbortSignal; onProgress(text: string): void },
  ): Promise<McpCallResult>
  /** Whether the server said that it has such a list. */
  offers(list: McpList): boolean
  page<L extends McpList>(list: L, cursor: string | undefined, signal: AbortSignal): Promise<McpPage[L]>
  close(): Promise<void>
}

/** Timeout of the last messages on a connection: a cancellation, the end of the session. */
export const CLOSE_TIMEOUT_MS = 1_000
/** Deadlines are the caller's signals; the library's own timeout must not fire first. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1

/**
 * Requests here do not ask the library to validate a result. Its default would compile schemas of strangers into code,
 * and its other one matches their patterns without a bound.
 */
export const NO_VALIDATOR: jsonSchemaValidator = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
}

export async function requestPage<L extends McpList>(
  client: Client,
  { list, cursor, stop, sdk }: { list: L; cursor: string | undefined; stop: AbortSignal; sdk: Sdk },
): Promise<McpPage[L]> {
  const schemas = {
    tools: sdk.ListToolsResultSchema,
    resources: sdk.ListResourcesResultSchema,
    prompts: sdk.ListPromptsResultSchema,
  }
  const request = { method: `${list}/list`, params: cursor === undefined ? {} : { cursor } } as const
  const options = { signal: stop, timeout: NO_TIMEOUT_MS }
  return (await client.request(request as never, schemas[list], options)) as unknown as McpPage[L]
}

/** Rejects if the server cannot be reached, does not speak the protocol, or `signal` aborts first. */
export async function openMcpConnection(endpoint: McpEndpoint, signal: AbortSignal): Promise<McpConnection> {
  const sdk = await loadSdk()
  const session: SessionState = { isOpen: true, listVersion: 0, call: NO_CALL }
  const watched = watchedFetch({
    fetch: endpoint.fetch,
    origin: new URL(endpoint.url).origin,
    onCall() {
      const { call } = session
      // Over SSE, answers come on another stream; over streamable HTTP, the library may resume the stream.
      return (resumable) => {
        call.hasEnded = true
        if (endpoint.type === 'streamable_http' && !resumable) call.lose('the answer ended before it was whole')
      }
    },
  })
  const transport = newTransport(endpoint, { sdk, fetch: watched.fetch })
  const client = new sdk.Client(
    { name: 'holdfast', version: '1' },
    { capabilities: {}, jsonSchemaValidator: NO_VALIDATOR },
  )
  client.setNotificationHandler(sdk.ToolListChangedNotificationSchema, () => {
    session.listVersion++
  })
  client.onclose = () => {
    session.isOpen = false
    session.call.lose('the connection was closed')
  }
  client.onerror = (error) => {
    // Only these two errors mean that no answer can come: the SSE stream broke, or a streamable HTTP stream could not
    // be resumed.
    const isOver =
      error instanceof sdk.SseError || (session.call.hasEnded && /Maximum reconnection/.test(error.message))
    if (isOver) {
      session.isOpen = false
      session.call.lose(errorDetail(error))
    }
  }

  const close = async () => {
    session.isOpen = false
    if ('terminateSession' in transport) await settleWithin(CLOSE_TIMEOUT_MS, transport.terminateSession())
    await settleWithin(CLOSE_TIMEOUT_MS, client.close())
  }

  try {
    await orAborted(signal, client.connect(transport, { signal, timeout: NO_TIMEOUT_MS }))
  } catch (error) {
    await settleWithin(CLOSE_TIMEOUT_MS, client.close())
    throw error
  }

  return {
    get isOpen() {
      return session.isOpen
    },
    get listVersion() {
      return session.listVersion
    },
    close,
    offers: (list) => client.getServerCapabilities()?.[list] !== undefined,
    page: (list, cursor, stop) => requestPage(client, { list, cursor, stop, sdk }),
    async call({ name, arguments: input, idempotencyKey }, { signal: stop, onProgress }) {
      if (stop.aborted) return { type: 'stopped' }
      const { promise: lost, resolve } = Promise.withResolvers<McpCallResult>()
      session.call = { hasEnded: false, lose: (detail) => resolve({ type: 'lost', detail }) }
      const params = { name, arguments: input, _meta: { 'holdfast/idempotency-key': idempotencyKey } }
      const answer = client.request({ method: 'tools/call', params }, sdk.CallToolResultSchema, {
        signal: stop,
        timeout: NO_TIMEOUT_MS,
        onprogress: ({ progress, total, message }) =>
          onProgress(message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)),
      })
      const end = answer.then(
        (result): McpCallResult => ({ type: 'answered', result: result as CallToolResult }),
        (error): McpCallResult => toCallResult(error, { isStopped: stop.aborted, isOpen: session.isOpen, sdk }),
      )
      const first = await Promise.race([end, lost])
      // The caller closes the connection next: wait until the cancellation is sent.
      if (first.type === 'stopped') await settleWithin(CLOSE_TIMEOUT_MS, watched.cancelSent)
      return first
    },
  }
}

/** `call` is the current call: a late end of an earlier call does not affect it. */
type SessionState = { isOpen: boolean; listVersion: number; call: { hasEnded: boolean; lose(detail: string): void } }

const NO_CALL: SessionState['call'] = { hasEnded: false, lose: () => undefined }

export function toCallResult(
  error: unknown,
  { isStopped, isOpen, sdk }: { isStopped: boolean; isOpen: boolean; sdk: Sdk },
): McpCallResult {
  if (isStopped) return { type: 'stopped' }
  if (error instanceof sdk.McpError && isOpen) return { type: 'declined', detail: error.message }
  if ((error as Error)?.name === 'ZodError' || Array.isArray((error as { issues?: unknown })?.issues))
    return { type: 'unreadable', detail: 'its answer is not a valid tool result' }
  return classifyCallError(error)
}

function newTransport({ type, url, headers }: McpEndpoint, { sdk, fetch }: { sdk: Sdk; fetch: SafeFetch }) {
  // The library follows redirects within the same origin only; `watchedFetch` refuses every other origin.
  const options = { fetch, requestInit: { headers } }
  return type === 'sse'
    ? new sdk.SSEClientTransport(new URL(url), options)
    : new sdk.StreamableHTTPClientTransport(new URL(url), options)
}

/** The result of the work; rejects with the signal's reason if that comes first. */
export async function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
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

/** Waits up to `ms` for the work, and ignores its outcome. */
export async function settleWithin(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work.catch(() => undefined), over])
  clearTimeout(timer)
}
