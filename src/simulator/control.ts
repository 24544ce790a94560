import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Json } from '../core/json.ts'
import { textOf } from './exchange.ts'
import { KEY_WORDS, readKeyState } from './key-ring.ts'
import { describeComplaint, readScript } from './read-script.ts'
import type { KeyState, Script } from './script.ts'

/** What can be changed from outside while it runs. Nothing of it is recorded or asks for a key. */
type Controlled = {
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
  controlled: Controlled,
): Promise<void> {
  const body = await textOf(request)
  if (body === undefined) return
  const url = new URL(request.url ?? '/', 'http://simulator')
  const [verb = '', name = ''] = url.pathname.slice(PREFIX.length).split('/').map(decodeURIComponent)
  const order = ORDERS[`${request.method} ${verb}`]
  const told = order ? order({ name, body, query: url.searchParams }, controlled) : refusal(404, ORDER_NAMES)
  response.writeHead(told.status, { 'content-type': 'application/json' })
  response.end(`${JSON.stringify(told.body, null, 2)}\n`)
}

type Order = (given: { name: string; body: string; query: URLSearchParams }, controlled: Controlled) => Told
type Told = { status: number; body: Json }

const done: Told = { status: 200, body: { done: true } }
const refusal = (status: number, reasons: string[]): Told => ({ status, body: { done: false, reasons } })

const ORDERS: Record<string, Order> = {
  'GET requests': (_, { requests }) => ({ status: 200, body: requests() }),
  'PUT script': ({ body }, { script }) => {
    const read = readScript(body)
    if (read.type === 'refused') return refusal(422, read.complaints.map(describeComplaint))
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
    // Only after the answer is on its way: this connection is reset, too.
    setImmediate(() => refuse(forMs))
    return done
  },
}

const ORDER_NAMES = Object.keys(ORDERS).map((order) => order.replace(' ', ` ${PREFIX}`))
