import { Agent, type IncomingMessage, request as send } from 'node:http'
import { defined } from '../../../src/core/defined.ts'
import type { RecordedRequest } from './request.ts'
import { eventsIn } from './stream-events.ts'

/** The raw answer; a stream is the list of its events. */
export type Answer = { status: number; headers: Record<string, string>; body: unknown }

/** The values of references. */
export type Values = Map<string, string>

export type Player = { play(request: RecordedRequest): Promise<Answer>; close(): void }

const POLL_MS = 20
const TIMEOUT_MS = 20_000
const BOUNDARY = 'recorded-form-boundary'

/** Sends requests one after another and stores the values that later ones refer to. */
export function newPlayer(port: number, values: Values): Player {
  // A new connection for each request: a refused body closes its connection, which would affect the next answer.
  const agent = new Agent({ keepAlive: true })

  async function play(request: RecordedRequest): Promise<Answer> {
    const deadline = Date.now() + TIMEOUT_MS
    for (;;) {
      const answer = await exchange(request)
      const isEarly = request.until?.not.includes(valueAt(answer, request.until.at))
      if (!isEarly) return kept(request, answer)
      if (Date.now() > deadline) throw new Error(`${request.method} ${request.path} never changed`)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    }
  }

  function exchange(request: RecordedRequest): Promise<Answer> {
    const { method, key } = request
    const path = filled(request.path)
    const body = bodyOf(request)
    const authorization = key === 'none' ? undefined : `Bearer ${filled(`{{${key ?? 'home'}}}`)}`
    const given = Object.entries(request.headers ?? {}).map(([name, value]) => [name, filled(value)])
    const headers = {
      ...defined({
        authorization: authorization || undefined,
        'content-type': body?.type ? body.type : undefined,
        'content-length': body ? String(body.bytes.length) : undefined,
      }),
      ...Object.fromEntries(given),
    }
    return new Promise((resolve, reject) => {
      const outgoing = send({ host: '127.0.0.1', port, agent, method, path, headers }, (response) => {
        read(response).then(resolve, reject)
      })
      outgoing.once('error', (fault) => reject(new Error(`${method} ${path}`, { cause: fault })))
      outgoing.end(body?.bytes)
    })
  }

  function kept({ method, path, keep }: RecordedRequest, answer: Answer): Answer {
    for (const [name, at] of Object.entries(keep ?? {})) {
      const value = valueAt(answer, at)
      if (typeof value !== 'string')
        throw new Error(`${method} ${path} has no ${at} to keep: ${JSON.stringify(answer).slice(0, 1_000)}`)
      values.set(name, value)
    }
    return answer
  }

  function bodyOf({ json, raw, bytes, form }: RecordedRequest): { bytes: Buffer; type?: string } | undefined {
    if (json !== undefined) return { bytes: Buffer.from(JSON.stringify(filledIn(json))), type: 'application/json' }
    if (raw !== undefined) return { bytes: Buffer.from(filled(raw)) }
    if (bytes !== undefined) return { bytes: Buffer.from(bytes, 'base64') }
    if (form === undefined) return undefined
    const parts = Object.entries(form).map(([name, value]) => {
      const file = name === 'file' ? '; filename="agent.af"\r\ncontent-type: application/json' : ''
      return `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${filled(value)}\r\n`
    })
    return {
      bytes: Buffer.from(`${parts.join('')}--${BOUNDARY}--\r\n`),
      type: `multipart/form-data; boundary=${BOUNDARY}`,
    }
  }

  function filledIn(value: unknown): unknown {
    if (typeof value === 'string') return filled(value)
    if (Array.isArray(value)) return value.map(filledIn)
    if (value === null || typeof value !== 'object') return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [filled(name), filledIn(inner)]))
  }

  function filled(text: string): string {
    return text.replaceAll(/\{\{([\w:-]+)\}\}/g, (_, name: string) => {
      const length = /^long:(\d+)$/.exec(name)?.[1]
      const value = length ? 'x'.repeat(Number(length)) : values.get(name)
      if (value === undefined) throw new Error(`no earlier request stores {{${name}}}`)
      return value
    })
  }

  return { play, close: () => agent.destroy() }
}

async function read(response: IncomingMessage): Promise<Answer> {
  const pieces: Buffer[] = []
  for await (const piece of response) pieces.push(piece)
  const text = Buffer.concat(pieces).toString()
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]))
  const isStream = headers['content-type']?.startsWith('text/event-stream')
  return { status: response.statusCode!, headers, body: isStream ? eventsIn(text) : jsonOrText(text) }
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function valueAt(answer: Answer, at: string): unknown {
  return at.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], answer)
}
