import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { defined } from '../core/defined.ts'
import { DEFAULT_ORGANIZATION, type OrganizationId } from '../core/id.ts'
import type { Limits } from '../core/limits.ts'
import { type Caller, isOperator, keyState, type StoredKey, scopeCovers } from '../core/people.ts'
import { normalTraceparent } from '../core/traceparent.ts'
import { keyLookup } from '../service/people/keys.ts'
import { effectiveLimits } from '../service/people/limits.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { addressGroup } from './address-group.ts'
import { bearerToken, newKeyMatcher } from './api-key.ts'
import { registerAuditTrail } from './audit-trail.ts'
import { type ConsoleSessions, isLink } from './console-session.ts'
import { type ActiveKey, type KeyLookupResult, type KeyRing, newKeyRing } from './key-ring.ts'
import { newLoopShare } from './loop-share.ts'
import type { Access } from './operation.ts'
import { isAllowedOrigin } from './origin-check.ts'
import { newBucket, newBuckets } from './rate-limit.ts'
import { refusalBody } from './refusal.ts'
import { newRefusalPace } from './refusal-pace.ts'
import { operationOf } from './register.ts'
import { newTraffic, type OrganizationTraffic, type Traffic } from './tenant-traffic.ts'

export type Admission = {
  /** The service context with the caller of this request. */
  contextOf(request: FastifyRequest): ServiceContext
  ring: Pick<KeyRing, 'recheck' | 'openOf'>
  traffic: Pick<Traffic, 'openOf'>
  perform: ReturnType<typeof registerAuditTrail>['perform']
  close(): void
}

type AdmissionOptions = {
  context: ServiceContext
  apiKey: string
  isLocal: boolean
  limits: Limits
  sessions: ConsoleSessions
}

type AdmissionDecision =
  | { type: 'enter'; caller?: Caller; key?: ActiveKey }
  | { type: 'refuse'; status: 400 | 401 | 403; detail: string; who: Partial<Caller> }
  | { type: 'too-many'; waitMs: number; detail: string; whose: string }

const MAX_ADDRESSES = 10_000

/** Instead of a token: the cookie was sent by a page of another origin. */
const FOREIGN = Symbol('foreign')

/** The home's own key administers the default organization. */
const HOME: Caller = { actor: 'home', organizationId: DEFAULT_ORGANIZATION, scope: 'admin' }

/** Admission middleware: checks Host and Origin, then the key and its rate limits, then the scope of the operation. */
export function admit(server: FastifyInstance, options: AdmissionOptions): Admission {
  const { context, apiKey, isLocal, limits, sessions } = options
  const isHome = newKeyMatcher(apiKey)
  const trail = registerAuditTrail(server, context)
  const failuresByAddress = newBuckets(MAX_ADDRESSES, () => newBucket(perMinute(limits.refusalsPerMinute)))
  const traffic = newTraffic((id) => effectiveLimits(id, context))
  const ring = newKeyRing({ keys: keyLookup(context), limits, traffic, end: endRevoked, report: context.deps.report })

  const loop = newLoopShare()
  const refusals = newRefusalPace()

  server.decorateRequest('caller', undefined)
  server.addHook('onRequest', (request, reply, done) => {
    const decision = decide(request)
    if (!(decision instanceof Promise)) apply(decision)
    else decision.then(apply, (fault: Error) => done(fault))

    function apply(decision: AdmissionDecision): void {
      switch (decision.type) {
        case 'enter':
          request.caller = decision.caller
          if (decision.key) trackOpen(decision.key, { request, reply })
          startInTurn(decision.caller, reply, done)
          return
        case 'refuse':
          trail.refused(request, decision.who, decision.status)
          void reply.code(decision.status).send(refusalBody(request, decision.detail, decision.status))
          return
        case 'too-many':
          refuseInTurn(decision, { request, reply })
      }
    }
  })

  function startInTurn(caller: Caller | undefined, reply: FastifyReply, start: () => void): void {
    if (!caller) {
      start()
      return
    }
    const leave = loop.enter(caller.organizationId, () => {
      // A key that was revoked meanwhile has its answer.
      if (!reply.sent) start()
    })
    reply.raw.once('close', leave)
  }

  function refuseInTurn(
    { waitMs, detail, whose }: AdmissionDecision & { type: 'too-many' },
    { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  ): void {
    const takeBack = refusals.refuse(whose, {
      send: () =>
        void reply
          .code(429)
          .header('retry-after', String(Math.ceil(waitMs / 1000)))
          .send(refusalBody(request, detail, 429)),
      end: () => void reply.raw.destroy(),
    })
    reply.raw.once('close', takeBack)
  }

  /** Returns a promise only if the key has to be looked up, which is rare. */
  function decide(request: FastifyRequest): AdmissionDecision | Promise<AdmissionDecision> {
    const { host, origin, authorization } = request.headers
    if (hasTwoHosts(request))
      return { type: 'refuse', status: 400, detail: 'The request has two Host headers.', who: {} }
    const { corsOrigins, hosts } = context
    if (!isAllowedOrigin({ host, origin }, { isLocal, corsOrigins, hosts }))
      return { type: 'refuse', status: 403, detail: originRefusal({ host, origin }), who: {} }
    if (operationOf(request)?.scope === 'open') return { type: 'enter' }
    const token = bearerToken(authorization) ?? tokenOfCookie(request)
    if (token === undefined) return refuseWithoutKey(request)
    if (token === FOREIGN)
      return {
        type: 'refuse',
        status: 403,
        detail: 'The cookie of the console works on pages of this server only.',
        who: {},
      }
    if (isLink(token)) return decideForLink(token, request)
    if (isHome(token)) return decideForCaller(HOME, request)
    const cached = ring.findCached(token)
    return cached ? decideForKey(cached, request) : ring.find(token).then((found) => decideForKey(found, request))
  }

  /** The cookie stands for the key it was made from: the rest of the server sees that key. */
  function tokenOfCookie(request: FastifyRequest): string | typeof FOREIGN | undefined {
    const claim = sessions.claimOf(request)
    if (claim.type === 'none') return undefined
    if (claim.type === 'foreign') return FOREIGN
    request.headers.authorization = `Bearer ${claim.token}`
    return claim.token
  }

  /** A link is good for signing in, and for nothing else. */
  function decideForLink(token: string, request: FastifyRequest): AdmissionDecision {
    const isSignIn = request.method === 'POST' && request.routeOptions.url === '/v1/session'
    if (!isSignIn || !isLocal || !sessions.takeLink(token)) return refuseWithoutKey(request)
    request.headers.authorization = `Bearer ${apiKey}`
    return { type: 'enter', caller: HOME }
  }

  function decideForKey(found: KeyLookupResult, request: FastifyRequest): AdmissionDecision {
    if (found.type !== 'valid') return refuseWithoutKey(request, found.type === 'ended' ? found.stored : undefined)
    const { stored, bucket, open, organization } = found.key
    const waitMs = bucket?.take(Date.now()) ?? 0
    if (waitMs > 0)
      return {
        type: 'too-many',
        whose: stored.organizationId,
        waitMs,
        detail: `Rate limit exceeded: ${limits.requestsPerSecond} requests per second per key (limits.requests_per_second).`,
      }
    if (limits.openRequestsPerKey > 0 && open.size >= limits.openRequestsPerKey)
      return {
        type: 'too-many',
        whose: stored.organizationId,
        waitMs: 1000,
        detail: `This key has ${open.size} open requests, which is its limit (limits.open_requests_per_key). Wait until one of them ends.`,
      }
    const overShare = refuseOverShare(stored.organizationId, organization)
    if (overShare) return overShare
    const decision = decideForCaller(callerWithKey(stored), request)
    return decision.type === 'enter' ? { ...decision, key: found.key } : decision
  }

  /** The keys of an organization share its limits: more keys are no more requests. */
  function refuseOverShare(whose: OrganizationId, organization: OrganizationTraffic): AdmissionDecision | undefined {
    const { openRequestsPerOrganization: mostOpen, requestsPerSecondPerOrganization: rate } = organization.limits
    if (mostOpen > 0 && organization.open >= mostOpen)
      return {
        type: 'too-many',
        whose,
        waitMs: 1000,
        detail: `This organization has ${organization.open} open requests, which is its limit (limits.open_requests_per_organization). Wait until one of them ends.`,
      }
    const waitMs = organization.takeRequest(Date.now())
    if (waitMs === 0) return undefined
    return {
      type: 'too-many',
      whose,
      waitMs,
      detail: `Rate limit exceeded: ${rate} requests per second for all keys of this organization (limits.requests_per_second_per_organization).`,
    }
  }

  function decideForCaller(caller: Caller, request: FastifyRequest): AdmissionDecision {
    const need = operationOf(request)?.scope ?? 'read'
    if (isAllowed(caller, need)) return { type: 'enter', caller }
    return { type: 'refuse', status: 403, detail: refusalOf(request, caller, need), who: caller }
  }

  /**
   * Rate-limits requests without a valid key by address. Valid keys are exempt: others at their address could lock them
   * out otherwise.
   */
  function refuseWithoutKey(request: FastifyRequest, stored?: StoredKey): AdmissionDecision {
    const address = addressGroup(request.ip)
    const waitMs = failuresByAddress.of(address).take(Date.now())
    if (waitMs > 0)
      return {
        type: 'too-many',
        whose: address,
        waitMs,
        detail: 'Too many requests without a valid key from this address. Send a valid key, or wait.',
      }
    if (!stored) return { type: 'refuse', status: 401, detail: 'Unauthorized', who: {} }
    const detail = `Unauthorized: this key ${ENDED[keyState(stored, Date.now())]}`
    return { type: 'refuse', status: 401, detail, who: callerWithKey(stored) }
  }

  return {
    ring,
    traffic,
    close() {
      ring.close()
      loop.close()
      refusals.close()
    },
    perform: trail.perform,
    contextOf: (request) => {
      const traceparent = normalTraceparent(request.headers.traceparent)
      const caller = {
        ...(request.caller ?? HOME),
        from: request.ip,
        requestId: request.id,
        ...defined({ traceparent }),
      }
      return { ...context, organizationId: caller.organizationId, caller }
    },
  }
}

function originRefusal({ host = '', origin }: Pick<FastifyRequest['headers'], 'host' | 'origin'>): string {
  if (origin === undefined)
    return `Host "${host.slice(0, 80)}" is not allowed. Use 127.0.0.1 or localhost, or add the name to server.hosts.`
  const refused = `Origin "${origin.slice(0, 80)}" is not allowed for Host "${host.slice(0, 80)}".`
  return `${refused} Call this server from its own pages or without an Origin header, or add the origin to server.cors_origins.`
}

/** A proxy and this server could take different ones. Names of headers and values alternate. */
function hasTwoHosts({ raw: { rawHeaders } }: FastifyRequest): boolean {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts > 1
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
  const operation = `${method} ${routeOptions.url ?? 'this'}`
  if (need === 'operator')
    return `${operation} is for operators: use a key of the default organization with the scope "admin".`
  return `This key has the scope "${scope}"; ${operation} needs "${need}".`
}

function trackOpen(key: ActiveKey, { request, reply }: { request: FastifyRequest; reply: FastifyReply }): void {
  const { open, organization } = key
  request.streamShare = key
  open.add(reply)
  organization.open += 1
  reply.raw.once('close', () => {
    open.delete(reply)
    organization.open -= 1
  })
}

/** A waiting request gets a 401; a stream that has started can only be closed. */
function endRevoked(reply: FastifyReply): void {
  if (reply.sent || reply.raw.headersSent) reply.raw.destroy()
  else void reply.code(401).header('connection', 'close').send({ detail: 'Unauthorized: this key was revoked.' })
}
