import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OrganizationId } from '../core/id.ts'
import type { Limits } from '../core/limits.ts'
import type { OrganizationLimits } from '../core/organization-limits.ts'
import { Problem } from '../core/problem.ts'
import { type Bucket, newBucket } from './rate-limit.ts'
import { operationOf } from './register.ts'

/** The requests of all keys of an organization. */
export type OrganizationTraffic = {
  limits: OrganizationLimits
  open: number
  streams: number
  /** Milliseconds to wait; 0 if the request may pass. */
  takeRequest(now: number): number
}

export type Traffic = {
  /** The traffic of an organization, with its current limits. */
  of(id: OrganizationId): Promise<OrganizationTraffic>
  /** What is open now. */
  openOf(id: OrganizationId): Pick<OrganizationTraffic, 'open' | 'streams'>
}

/** Organizations whose limits were read. One with open requests is never forgotten. */
const MAX_KNOWN = 10_000

export function newTraffic(limitsOf: (id: OrganizationId) => Promise<OrganizationLimits>): Traffic {
  const known = new Map<OrganizationId, OrganizationTraffic>()

  function forgetIdle(): void {
    for (const [id, { open }] of known) {
      if (known.size <= MAX_KNOWN) return
      if (open === 0) known.delete(id)
    }
  }

  return {
    async of(id) {
      const limits = await limitsOf(id)
      const traffic = known.get(id) ?? newOrganizationTraffic(limits)
      traffic.limits = limits
      known.set(id, traffic)
      if (known.size > MAX_KNOWN) forgetIdle()
      return traffic
    },
    openOf: (id) => known.get(id) ?? { open: 0, streams: 0 },
  }
}

function newOrganizationTraffic(limits: OrganizationLimits): OrganizationTraffic {
  let bucket: Bucket | undefined
  let rate = 0
  return {
    limits,
    open: 0,
    streams: 0,
    takeRequest(now) {
      const { requestsPerSecondPerOrganization: perSecond } = this.limits
      if (perSecond === 0) return 0
      if (!bucket || rate !== perSecond) bucket = newBucket({ perSecond, burst: 2 * perSecond })
      rate = perSecond
      return bucket.take(now)
    },
  }
}

/** The open streams of a key, and the traffic of its organization. */
export type StreamShare = { streams: number; organization: OrganizationTraffic }

/** Bounds the open streams of a key and of an organization. A request that would open one more is refused. */
export function boundStreams(server: FastifyInstance, { streamsPerKey }: Pick<Limits, 'streamsPerKey'>): void {
  server.decorateRequest('streamShare')
  server.addHook('preHandler', (request, reply, done) => {
    const share = request.streamShare
    if (!share || !opensStream(request)) return done()
    const { streamsPerOrganization } = share.organization.limits
    if (streamsPerKey > 0 && share.streams >= streamsPerKey)
      return done(tooMany('This key', share.streams, 'limits.streams_per_key'))
    if (streamsPerOrganization > 0 && share.organization.streams >= streamsPerOrganization)
      return done(tooMany('This organization', share.organization.streams, 'limits.streams_per_organization'))
    countStream(share, reply)
    done()
  })
}

const tooMany = (whose: string, count: number, setting: string) =>
  new Problem('queue-full', `${whose} has ${count} open streams, which is its limit (${setting}). Close one of them.`)

function countStream(share: StreamShare, { raw }: FastifyReply): void {
  share.streams += 1
  share.organization.streams += 1
  raw.once('close', () => {
    share.streams -= 1
    share.organization.streams -= 1
  })
}

function opensStream(request: FastifyRequest): boolean {
  const operation = operationOf(request)
  if (!operation || operation.streams === 'never') return false
  if (operation.streams === 'always') return true
  const { streaming } = (request.body ?? {}) as { streaming?: boolean | null }
  // Messages to a conversation are streamed unless the body says otherwise.
  return streaming ?? operation.path.startsWith('/v1/conversations/')
}
