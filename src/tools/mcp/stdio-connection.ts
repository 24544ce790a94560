import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { ProgramEvents, RunningProgram } from '../../ports/stdio-programs.ts'
import {
  CLOSE_TIMEOUT_MS,
  type McpCallResult,
  type McpConnection,
  NO_TIMEOUT_MS,
  NO_VALIDATOR,
  orAborted,
  requestPage,
  settleWithin,
  toCallResult,
} from './connection.ts'
import { loadSdk } from './load-sdk.ts'
import { newStdioTransport, ProgramEnded } from './stdio-transport.ts'

/** How long a program that did not answer a call in time has for a ping, before it counts as hung and is stopped. */
const PING_MS = 5_000

export type StdioConnection = McpConnection & {
  /** Resolves when the program has ended, with the reason. */
  ended: Promise<string>
}

/** A session with a program, for many calls at once. Rejects like `openMcpConnection`. */
export async function openStdioConnection(
  startProgram: (events: ProgramEvents) => Promise<RunningProgram>,
  signal: AbortSignal,
): Promise<StdioConnection> {
  const sdk = await loadSdk()
  const { promise: ended, resolve: resolveEnded } = Promise.withResolvers<string>()
  const transport = newStdioTransport(startProgram)
  const client = new sdk.Client(
    { name: 'holdfast', version: '1' },
    { capabilities: {}, jsonSchemaValidator: NO_VALIDATOR },
  )
  let isOpen = true
  let listVersion = 0
  client.setNotificationHandler(sdk.ToolListChangedNotificationSchema, () => {
    listVersion++
  })
  client.onclose = () => {
    isOpen = false
    resolveEnded(transport.whyEnded() ?? 'it was stopped')
  }
  client.onerror = () => {
    // A message that cannot be used, or an answer under an id that was not asked: the call has its own deadline.
  }
  try {
    await orAborted(signal, client.connect(transport as never, { signal, timeout: NO_TIMEOUT_MS }))
  } catch (error) {
    await settleWithin(CLOSE_TIMEOUT_MS, client.close())
    const why = transport.whyEnded()
    throw why !== undefined && !(error instanceof ProgramEnded) ? new ProgramEnded(why) : error
  }

  const close = () => settleWithin(NO_TIMEOUT_MS, client.close())

  /** A program that does not even answer a ping holds up every other conversation. */
  const stopIfHung = async () => {
    try {
      await client.ping({ timeout: PING_MS })
    } catch {
      await close()
    }
  }

  return {
    ended,
    close,
    get isOpen() {
      return isOpen
    },
    get listVersion() {
      return listVersion
    },
    offers: (list) => client.getServerCapabilities()?.[list] !== undefined,
    page: (list, cursor, stop) => requestPage(client, { list, cursor, stop, sdk }),
    async call({ name, arguments: input, idempotencyKey }, { signal: stop, onProgress }) {
      if (stop.aborted) return { type: 'stopped' }
      if (!isOpen) return { type: 'not-sent', detail: transport.whyEnded() ?? 'it has ended' }
      const params = { name, arguments: input, _meta: { 'holdfast/idempotency-key': idempotencyKey } }
      const answer = client.request({ method: 'tools/call', params }, sdk.CallToolResultSchema, {
        signal: stop,
        timeout: NO_TIMEOUT_MS,
        onprogress: ({ progress, total, message }) =>
          onProgress(message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)),
      })
      const result = await answer.then(
        (value): McpCallResult => ({ type: 'answered', result: value as CallToolResult }),
        async (error): Promise<McpCallResult> => {
          const failed = toCallResult(error, { isStopped: stop.aborted, isOpen, sdk })
          if (failed.type === 'stopped' || failed.type === 'declined' || isOpen) return failed
          return { type: 'lost', detail: await ended }
        },
      )
      if (stop.reason === 'timeout') void stopIfHung()
      return result
    },
  }
}
