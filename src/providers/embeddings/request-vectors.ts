import type { Failure, FailureKind } from '../../core/failure.ts'
import type { Target } from '../../core/target.ts'
import type { Grant } from '../../ports/credentials.ts'
import type { EmbedOptions, EmbedResult } from '../../ports/embeddings.ts'
import { classify, classifyTransport } from '../classify/classify.ts'
import type { EmbeddingEntry } from '../dialects.ts'
import { loadUndici } from '../load-undici.ts'
import { authHeaders } from '../wire/auth-headers.ts'
import type { Quirks } from '../wire/quirks.ts'
import { readVectors } from './embedding-wire.ts'

/** A user waits for a search, which can fall back to keywords; storage runs in the background. */
const TIMEOUTS_MS: Record<EmbedOptions['purpose'], number> = { question: 5_000, storage: 60_000 }
/** Vectors of 64 texts of 3,072 numbers are 4 MB of JSON. */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024

export type EmbeddingEndpoint = {
  target: Target
  dialect: EmbeddingEntry
  baseUrl: string
  needsKey: boolean
  quirks: Quirks
  timeoutMs: number | undefined
}

/** Sends one request without retry; this file is loaded with the first one. */
export async function requestVectors(
  endpoint: EmbeddingEndpoint & { grant: Grant | undefined },
  texts: readonly string[],
  { purpose, signal: callerSignal }: EmbedOptions,
): Promise<EmbedResult> {
  const { dialect, target, grant, quirks, baseUrl, timeoutMs } = endpoint
  const { provider, model } = target
  const { embeddings: wire } = await dialect.load()
  const deadlineMs = Math.min(TIMEOUTS_MS[purpose], timeoutMs ?? Number.POSITIVE_INFINITY)
  const signal = AbortSignal.any([callerSignal, AbortSignal.timeout(deadlineMs)])
  const query = quirks.query ? `?${new URLSearchParams(quirks.query)}` : ''
  const url = (grant?.baseUrl ?? baseUrl).replace(/\/+$/, '') + wire.path(model) + query
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json',
    ...quirks.headers,
    ...grant?.headers,
    ...authHeaders(grant, quirks.auth ?? wire.auth),
  }
  try {
    const { request } = await loadUndici()
    const body = JSON.stringify(wire.body({ model, texts, purpose }))
    const reply = await request(url, { method: 'POST', headers, body, signal })
    const text = await readLimited(reply.body, MAX_RESPONSE_BYTES)
    if (reply.statusCode >= 300)
      return {
        type: 'failure',
        failure: classifyReply({ provider, model, status: reply.statusCode, text }, reply.headers),
      }
    const vectors = readVectors(wire.vectorsIn(parseJson(text)), texts.length)
    return vectors
      ? { type: 'vectors', vectors }
      : failed('malformed-answer', 'the response is not one vector per text')
  } catch (error) {
    if (signal.aborted && signal.reason?.name === 'TimeoutError')
      return failed('timeout', `no vectors arrived within ${deadlineMs / 1_000} s`)
    return { type: 'failure', failure: classifyTransport(error, 'connect') }
  }
}

const failed = (kind: FailureKind, detail: string): EmbedResult => ({ type: 'failure', failure: { kind, detail } })

function classifyReply(
  { provider, model, status, text }: Target & { status: number; text: string },
  headers: Record<string, string | string[] | undefined>,
): Failure {
  const plain = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return classify({ provider, model, status, headers: Object.fromEntries(plain), body: text })
}

async function readLimited(body: AsyncIterable<Buffer>, most: number): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > most) throw new Error(`the response is larger than ${most} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
