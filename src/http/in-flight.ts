import { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Limits } from '../core/limits.ts'
import type { Problem } from '../core/problem.ts'
import { PAGE_BYTES } from '../ports/list-page.ts'
import { addressGroup } from './address-group.ts'
import { type ByteAccount, type ByteBudget, newByteBudget } from './byte-budget.ts'
import { operationOf } from './register.ts'
import { newTurnstile } from './turnstile.ts'

/** The bytes in memory of one request: its body, and its answer until the client has read it. */
export type InFlight = Pick<ByteAccount, 'refusal'> & {
  /** Counts bytes until the answer is sent or `release` is called. */
  hold(bytes: number): void
  release(): void
  whenAnswered(call: () => void): void
  /** Lets the next list of the organization be built. */
  whenBuilt?: () => void
}

/** Answers below this size fit into the buffers of a connection. */
const COUNTED_FROM = 16_384
/** Lists of one organization that are built at the same time. */
const LISTS_AT_ONCE = 4
/** A client that reads slower than this is disconnected. */
const SLOWEST_BYTES_PER_MS = 8

/**
 * Bounds the bytes in flight. A caller over a limit is refused before its answer is built, and a read that another
 * answer has overtaken meanwhile instead of its answer. An answer that the client does not read ends its connection.
 */
export function boundBytesInFlight(server: FastifyInstance, limits: Limits): Pick<ByteBudget, 'heldBy'> {
  const budget = newByteBudget(limits)
  server.decorateRequest('inFlight')
  server.addHook('onRequest', (request, reply, done) => {
    request.inFlight = inFlightOf(request, reply)
    done()
  })
  const building = newTurnstile(LISTS_AT_ONCE)
  server.addHook('preHandler', (request, { raw }, done) => {
    const operation = operationOf(request)
    if (operation?.scope === 'open') return done()
    const { inFlight, caller } = request
    if (!operation?.query || !('limit' in operation.query.shape)) return done(inFlight.refusal())
    // Lists that are built side by side would all find room, and none after they were built.
    building.enter(caller?.organizationId ?? request.ip).then((leave) => {
      inFlight.whenBuilt = leave
      if (raw.closed) leave()
      else raw.once('close', leave)
      done(inFlight.refusal())
    }, done)
  })
  server.addHook('onSend', (request, reply, payload, done) => {
    const size = typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : undefined
    const { inFlight } = request
    if (payload === null || payload === undefined || (size !== undefined && size < COUNTED_FROM)) {
      inFlight?.whenBuilt?.()
      return done()
    }
    const refusal = request.method === 'GET' && reply.statusCode === 200 ? inFlight?.refusal() : undefined
    if (refusal) return done(refusal)
    // A stream holds the page that it is sending.
    inFlight?.hold(size ?? PAGE_BYTES)
    inFlight?.whenBuilt?.()
    disconnectStalled(reply, { stalledMs: limits.stalledAnswerMs, size })
    // Node.js would reserve three bytes for each character of a text that waits to be sent.
    done(null, typeof payload === 'string' ? Buffer.from(payload) : payload)
  })

  return budget

  function inFlightOf(request: FastifyRequest, { raw }: FastifyReply): InFlight {
    let account: ByteAccount | undefined
    let held: (() => void)[] = []
    const accountOf = () => (account ??= budget.accountOf(request.caller, addressGroup(request.ip)))
    const release = () => {
      for (const one of held) one()
      held = []
    }
    return {
      refusal: (): Problem | undefined => accountOf().refusal(),
      hold(bytes) {
        if (raw.closed) return
        if (held.length === 0) raw.once('close', release)
        held.push(accountOf().hold(bytes))
      },
      release,
      whenAnswered(call) {
        if (raw.closed) call()
        else raw.once('close', call)
      },
    }
  }
}

/** Node.js resets the timeout of a socket whenever its peer takes some bytes, and after the answer. */
function disconnectStalled(
  { raw }: FastifyReply,
  { stalledMs, size }: { stalledMs: number; size: number | undefined },
) {
  // A request of this process has no connection.
  if (!(raw.socket instanceof Socket)) return
  raw.socket.setTimeout(stalledMs)
  if (size === undefined) return
  const tooSlow = setTimeout(() => raw.destroy(), stalledMs + size / SLOWEST_BYTES_PER_MS).unref()
  raw.once('close', () => clearTimeout(tooSlow))
}
