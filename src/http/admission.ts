import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DEFAULT_ORGANIZATION } from '../core/id.ts'
import type { Limits } from '../core/limits.ts'
import { type Caller, covers, isOperator, type KeptKey, keyState } from '../core/people.ts'
import type { Desk } from '../service/desk.ts'
import { keyLookup } from '../service/people/keys.ts'
import { addressGroup } from './address-group.ts'
import { bearerOf, keyGuard } from './api-key.ts'
import { keepAuditTrail } from './audit-trail.ts'
import { type HeldKey, type KeyRing, newKeyRing, type Shown } from './key-ring.ts'
import { isFromNeighbour } from './neighbours.ts'
import type { Access } from './operation.ts'
import { newBucket, newBuckets } from './rate-limit.ts'
import { operationOf } from './register.ts'

export type Admission = {
  /** The desk of whoever sent this request. */
  deskOf(request: FastifyRequest): Desk
  ring: Pick<KeyRing, 'recheck' | 'close'>
}

type Options = { desk: Desk; apiKey: string; isLocal: boolean; limits: Limits }

type Verdict =
  | { type: 'enter'; caller?: Caller; held?: HeldKey }
  | { type: 'refuse'; status: 401 | 403; detail: string; who: Partial<Caller> }
  | { type: 'too-many'; waitMs: number; detail: string }

const MOST_ADDRESSES = 10_000

/** The home's own key administers the organisation the server belongs to. */
const HOME: Caller = { actor: 'home', organizationId: DEFAULT_ORGANIZATION, scope: 'admin' }

/** Who may come in: whoever is not sent by a stranger's page, shows a key, and asks for what that key may do. */
export function admit(server: FastifyInstance, { desk, apiKey, isLocal, limits }: Options): Admission {
  const isHome = keyGuard(apiKey)
  const trail = keepAuditTrail(server, desk)
  const strangers = newBuckets(MOST_ADDRESSES, () => newBucket(perMinute(limits.refusalsPerMinute)))
  const ring = newKeyRing({ keys: keyLookup(desk), limits, end: endNow, report: desk.world.report })

  server.decorateRequest('caller', undefined)
  server.addHook('onRequest', (request, reply, done) => {
    const verdict = judge(request)
    if (!(verdict instanceof Promise)) carryOut(verdict)
    else verdict.then(carryOut, (fault: Error) => done(fault))

    function carryOut(decided: Verdict): void {
      switch (decided.type) {
        case 'enter':
          request.caller = decided.caller
          if (decided.held) hold(decided.held, reply)
          done()
          return
        case 'refuse':
          trail.refused(request, decided.who, decided.status)
          void reply.code(decided.status).send({ detail: decided.detail })
          return
        case 'too-many':
          reply.header('retry-after', String(Math.ceil(decided.waitMs / 1000)))
          void reply.code(429).send({ detail: decided.detail })
      }
    }
  })

  /** Without a promise where nothing has to be looked up: that is nearly always. */
  function judge(request: FastifyRequest): Verdict | Promise<Verdict> {
    const { host, origin, authorization } = request.headers
    if (!isFromNeighbour({ host, origin }, { isLocal })) return STRANGE_NAME
    if (operationOf(request)?.scope === 'open') return { type: 'enter' }
    const shown = bearerOf(authorization)
    if (shown === undefined) return stranger(request)
    if (isHome(shown)) return asCaller(HOME, request)
    const known = ring.known(shown)
    return known ? asShown(known, request) : ring.find(shown).then((found) => asShown(found, request))
  }

  function asShown(shown: Shown, request: FastifyRequest): Verdict {
    if (shown.type !== 'valid') return stranger(request, shown.type === 'ended' ? shown.kept : undefined)
    const { kept, bucket, open } = shown.held
    const waitMs = bucket?.take(Date.now()) ?? 0
    if (waitMs > 0)
      return { type: 'too-many', waitMs, detail: `This key may ask ${limits.requestsPerSecond} times a second.` }
    if (limits.openRequestsPerKey > 0 && open.size >= limits.openRequestsPerKey)
      return {
        type: 'too-many',
        waitMs: 1000,
        detail: `This key holds ${open.size} requests open, which is its limit.`,
      }
    const verdict = asCaller(callerOf(kept), request)
    return verdict.type === 'enter' ? { ...verdict, held: shown.held } : verdict
  }

  function asCaller(caller: Caller, request: FastifyRequest): Verdict {
    const need = operationOf(request)?.scope ?? 'read'
    if (isAllowed(caller, need)) return { type: 'enter', caller }
    return { type: 'refuse', status: 403, detail: refusalOf(request, caller, need), who: caller }
  }

  /** A valid key passes whatever others at its address do: they could lock it out otherwise. */
  function stranger(request: FastifyRequest, kept?: KeptKey): Verdict {
    const waitMs = strangers.of(addressGroup(request.ip)).take(Date.now())
    if (waitMs > 0)
      return { type: 'too-many', waitMs, detail: 'Too many requests without a valid key came from this address.' }
    if (!kept) return { type: 'refuse', status: 401, detail: 'Unauthorized', who: {} }
    const detail = `Unauthorized: this key ${ENDED[keyState(kept, Date.now())]}`
    return { type: 'refuse', status: 401, detail, who: callerOf(kept) }
  }

  return {
    ring,
    deskOf: (request) => {
      const caller = { ...(request.caller ?? HOME), from: request.ip, requestId: request.id }
      return { ...desk, organizationId: caller.organizationId, caller }
    },
  }
}

const STRANGE_NAME: Verdict = {
  type: 'refuse',
  status: 403,
  detail: 'This server is not known under the name it was asked by.',
  who: {},
}

const perMinute = (count: number) => ({ perSecond: count / 60, burst: count })

const callerOf = ({ id: actor, organizationId, scope, userId }: KeptKey): Caller => ({
  ...{ actor, organizationId, scope },
  ...(userId ? { userId } : {}),
})

function isAllowed(caller: Caller, need: Access): boolean {
  if (need === 'open') return true
  return need === 'operator' ? isOperator(caller) : covers(caller.scope, need)
}

const ENDED = { valid: 'is not accepted.', revoked: 'was revoked.', expired: 'has expired.' }

function refusalOf({ method, routeOptions }: FastifyRequest, { scope }: Caller, need: Access): string {
  const what = `${method} ${routeOptions.url ?? 'this'}`
  if (need === 'operator') return `${what} is for administrators of the default organization only.`
  return `This key has the scope "${scope}"; ${what} needs "${need}".`
}

function hold({ open }: HeldKey, reply: FastifyReply): void {
  open.add(reply)
  reply.raw.once('close', () => open.delete(reply))
}

/** Whoever waits is told why; a stream that has begun can only end. */
function endNow(reply: FastifyReply): void {
  if (reply.sent || reply.raw.headersSent) reply.raw.destroy()
  else void reply.code(401).header('connection', 'close').send({ detail: 'Unauthorized: this key was revoked.' })
}
