import { Api, type ApiClientOptions, GrammyError, HttpError, InputFile } from 'grammy/web'
import type { CallFailure } from '../../core/gateway/send-plan.ts'
import type { CallOutcome, OutgoingFile } from '../../ports/platform.ts'
import { failureOf, isNotModified, lostCall, type TelegramError } from './errors.ts'

/** One call of the Bot API. The outcome is a value, and no call is repeated. */
export type TelegramTransport = <T = object>(
  method: string,
  payload: object,
  options: CallOptions,
) => Promise<CallOutcome<{ result: T }>>

/** `file`: uploaded as the `media` of the payload. */
type CallOptions = { signal: AbortSignal; timeoutMs?: number; file?: OutgoingFile }

const CALL_TIMEOUT_MS = 20_000

export const failed = (failure: CallFailure): { type: 'failed'; failure: CallFailure } => ({ type: 'failed', failure })

/**
 * grammY makes the calls. Its own retries are not used. Its build for the web calls the `fetch` of Node.js; the other one has
 * a `fetch` of its own that fails in the bundle.
 */
export function grammyTransport(token: string, apiRoot: string): TelegramTransport {
  const options: ApiClientOptions = {
    apiRoot,
    fetch: streamingFetch as unknown as NonNullable<ApiClientOptions['fetch']>,
  }
  const api = new Api(token, options)
  const raw = api.raw as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>
  return async <T>(method: string, payload: object, options: CallOptions) => {
    const limit = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs ?? CALL_TIMEOUT_MS)])
    try {
      // grammY calls a method without parameters without a payload.
      const result = await (method === 'getMe'
        ? raw.getMe!(limit)
        : raw[method]!(withFile(payload, options.file), limit))
      return { type: 'done', result: result as T }
    } catch (fault) {
      if (fault instanceof GrammyError) return outcomeOf<T>(fault as TelegramError)
      return failed(lostCall(fault instanceof HttpError ? fault.error : fault))
    }
  }
}

/** grammY sends a file as a stream, and Node.js wants to be told. */
const streamingFetch = (address: string, init: RequestInit): Promise<Response> =>
  fetch(address, Object.assign({ duplex: 'half' }, init))

function withFile(payload: object, file: OutgoingFile | undefined): object {
  if (!file) return payload
  const { media, ...rest } = payload as { media?: object }
  return Object.assign(rest, { media: Object.assign({ media: new InputFile(file.bytes, file.name) }, media) })
}

/** The outcome of a call that Telegram answered with an error. */
export const outcomeOf = <T>(error: TelegramError): CallOutcome<{ result: T }> =>
  isNotModified(error) ? { type: 'done', result: {} as T } : failed(failureOf(error))
