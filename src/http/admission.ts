import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { defined } from '../core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../core/id.ts'
import type { Limits } from '../core/limits.ts'
import { type Caller, isOperator, keyState, type StoredKey, scopeCovers } from '../core/people.ts'
import { keyLookup } from '../service/people/keys.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { addressGroup } from './address-group.ts'
import { bearerToken, newKeyMatcher } from './api-key.ts'
import { registerAuditTrail } from './audit-trail.ts'
import { type ActiveKey, type KeyLookupResult, type KeyRing, newKeyRing } from './key-ring.ts'
import type { Access } from './operation.ts'
import { isAllowedOrigin } from './origin-check.ts'
import { newBucket, newBuckets } from './rate-limit.ts'
import { operationOf } from './register.ts'

export type Admission = {
  /** The desk of whoever sent this request. */
  contextOf(request: FastifyRequest): ServiceContext
  ring: Pick<KeyRing, 'recheck' | 'close'>
}

type AdmissionOptions = { context: ServiceContext; apiKey: string; isLocal: boolean; limits: Limits }

type AdmissionDecision =
  | { type: 'enter'; caller?: Caller; held?: ActiveKey }
  | { type: 'refuse'; status: 401 | 403; detail: string; who: Partial<Caller> }
  | { type: 'too-many'; waitMs: number; detail: string }

const MAX_ADDRESSES = 10_000

/** The home's own key administers the organization the server belongs to. */
const HOME: Caller = { actor: 'home', organizationId: DEFAULT_ORGANIZATION, scope: 'admin' }

/** Who may come in: whoever is not sent by a stranger's page, shows a key, and asks for what that key may do. */
export function admit(server: FastifyInstance, { context, apiKey, isLocal, limits }: AdmissionOptions): Admission {
  const isHome = newKeyMatcher(apiKey)
  const trail = registerAuditTrail(server, context)
  const strangers = newBuckets(MAX_ADDRESSES, () => newBucket(perMinute(limits.refusalsPerMinute)))
  const ring = newKeyRing({ keys: keyLookup(context), limits, end: endRevoked, report: context.deps.report })

  server.decorateRequest('caller', undefined)
  server.addHook('onRequest', (request, reply, done) => {
    const verdict = judge(request)
    if (!(verdict instanceof Promise)) carryOut(verdict)
    else verdict.then(carryOut, (fault: Error) => done(fault))

    function carryOut(decided: AdmissionDecision): void {
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
  function judge(request: FastifyRequest): AdmissionDecision | Promise<AdmissionDecision> {
    const { host, origin, authorization } = request.headers
    if (!isAllowedOrigin({ host, origin }, { isLocal })) return STRANGE_NAME
    if (operationOf(request)?.scope === 'open') return { type: 'enter' }
    const shown = bearerToken(authorization)
    if (shown === undefined) return stranger(request)
    if (isHome(shown)) return asCaller(HOME, request)
    const known = ring.findCached(shown)
    return known ? asShown(known, request) : ring.find(shown).then((found) => asShown(found, request))
  }

  function asShown(shown: KeyLookupResult, request: FastifyRequest): AdmissionDecision {
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
    const verdict = asCaller(callerWithKey(kept), request)
    return verdict.type === 'enter' ? { ...verdict, held: shown.held } : verdict
  }

  function asCaller(caller: Caller, request: FastifyRequest): AdmissionDecision {
    const need = operationOf(request)?.scope ?? 'read'
    if (isAllowed(caller, need)) return { type: 'enter', caller }
    return { type: 'refuse', status: 403, detail: refusalOf(request, caller, need), who: caller }
  }

  /** A valid key passes whatever others at its address do: they could lock it out otherwise. */
  function stranger(request: FastifyRequest, kept?: StoredKey): AdmissionDecision {
    const waitMs = strangers.of(addressGroup(request.ip)).take(Date.now())
    if (waitMs > 0)
      return { type: 'too-many', waitMs, detail: 'Too many requests without a valid key came from this address.' }
    if (!kept) return { type: 'refuse', status: 401, detail: 'Unauthorized', who: {} }
    const detail = `Unauthorized: this key ${ENDED[keyState(kept, Date.now())]}`
    return { type: 'refuse', status: 401, detail, who: callerWithKey(kept) }
  }

  return {
    ring,
    contextOf: (request) => {
      const caller = { ...(request.caller ?? HOME), from: request.ip, requestId: request.id }
      return { ...context, organizationId: caller.organizationId, caller }
    },
  }
}

const STRANGE_NAME: AdmissionDecision = {
  type: 'refuse',
  status: 403,
  detail: 'This server is not known under the name it was asked by.',
  who: {},
}

const perMinute = (count: number) => ({ perSecond: count / 60, burst: count })

const callerWithKey = ({ id: actor, organizationId, scope, userId }: StoredKey): Caller => ({
  actor,
  organizationId,
  scope,
  ...defined({ userId: userId || undefined }),
})

function isAllowed(caller: Caller, need: Access): boolean {
  if (need === 'open') return true
  return need === 'operator' ? isOperator(caller) : scopeCovers(caller.scope, need)
}

const ENDED = { valid: 'is not accepted.', revoked: 'was revoked.', expired: 'has expired.' }

function refusalOf({ method, routeOptions }: FastifyRequest, { scope }: Caller, need: Access): string {
  const what = `${method} ${routeOptions.url ?? 'this'}`
  if (need === 'operator') return `${what} is for administrators of the default organization only.`
  return `This key has the scope "${scope}"; ${what} needs "${need}".`
}

function hold({ open }: ActiveKey, reply: FastifyReply): void {
  open.add(reply)
  reply.raw.once('close', () => open.delete(reply))
}

/** Whoever waits is told why; a stream that has begun can only end. */
function endRevoked(reply: FastifyReply): void {
  if (reply.sent || reply.raw.headersSent) reply.raw.destroy()
  else void reply.code(401).header('connection', 'close').send({ detail: 'Unauthorized: this key was revoked.' })
}
