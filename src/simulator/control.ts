import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Json } from '../core/json.ts'
import { readBody } from './exchange.ts'
import { KEY_WORDS, readKeyState } from './key-ring.ts'
import { describeIssue, readScript } from './read-script.ts'
import type { KeyState, Script } from './script.ts'

/** Controls of a running simulator over HTTP. These requests are not recorded and need no key. */
type SimulatorControls = {
  script(...rules: Script): void
  setKey(key: string, state: KeyState): void
  reset(): void
  refuse(forMs: number): void
  requests(): Json
}

const PREFIX = '/simulator/'

export const isControl = (request: IncomingMessage): boolean => request.url?.startsWith(PREFIX) ?? false

export async function control(
  request: IncomingMessage,
  response: ServerResponse,
  controls: SimulatorControls,
): Promise<void> {
  const body = await readBody(request)
  if (body === undefined) return
  const url = new URL(request.url ?? '/', 'http://simulator')
  const [verb = '', name = ''] = url.pathname.slice(PREFIX.length).split('/').map(decodeURIComponent)
  const handler = CONTROL_HANDLERS[`${request.method} ${verb}`]
  const answer = handler ? handler({ name, body, query: url.searchParams }, controls) : refusal(404, CONTROL_ROUTES)
  response.writeHead(answer.status, { 'content-type': 'application/json' })
  response.end(`${JSON.stringify(answer.body, null, 2)}\n`)
}

type ControlHandler = (
  request: { name: string; body: string; query: URLSearchParams },
  controlled: SimulatorControls,
) => ControlResponse
type ControlResponse = { status: number; body: Json }

const done: ControlResponse = { status: 200, body: { done: true } }
const refusal = (status: number, reasons: string[]): ControlResponse => ({ status, body: { done: false, reasons } })

const CONTROL_HANDLERS: Record<string, ControlHandler> = {
  'GET requests': (_, { requests }) => ({ status: 200, body: requests() }),
  'PUT script': ({ body }, { script }) => {
    const read = readScript(body)
    if (read.type === 'refused') return refusal(422, read.complaints.map(describeIssue))
    script(...read.script)
    return done
  },
  'PUT keys': ({ name, body }, { setKey }) => {
    const state = readKeyState(body.trim(), Date.now())
    if (name === '' || state === undefined) return refusal(422, [`PUT ${PREFIX}keys/NAME with one of: ${KEY_WORDS}`])
    setKey(name, state)
    return done
  },
  'POST reset': (_, { reset }) => {
    reset()
    return done
  },
  'POST down': ({ query }, { refuse }) => {
    const forMs = Number(query.get('forMs') ?? Number.NaN)
    if (!(forMs >= 0)) return refusal(422, [`POST ${PREFIX}down?forMs=NUMBER`])
    // After the response was sent: closing the port resets this connection, too.
    setImmediate(() => refuse(forMs))
    return done
  },
}

const CONTROL_ROUTES = Object.keys(CONTROL_HANDLERS).map((order) => order.replace(' ', ` ${PREFIX}`))
