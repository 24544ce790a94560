import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type AuditEntry, type AuditOutcome, newAuditTicket } from '../core/audit.ts'
import { defined } from '../core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../core/id.ts'
import type { Caller } from '../core/people.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { addressGroup } from './address-group.ts'
import { newBucket, newBuckets } from './rate-limit.ts'
import { operationOf } from './register.ts'

const ID = /^[a-z]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Rate limit of logged refusals and failures, for each organization, and for each address without a valid key: a flood of
 * them must not fill the disk, and must not silence others.
 */
const SHARE = { perSecond: 2, burst: 100 }
const STRANGER = { perSecond: 0.2, burst: 20 }
const MOST_SHARES = 10_000

type AuditTrail = {
  /** Logs a request that was not admitted. */
  refused(request: FastifyRequest, who: Partial<Caller>, status: number): void
  /** Performs the operation of a request, with its entry in the audit log if it has one. */
  perform<T>(request: FastifyRequest, work: () => T | Promise<T>): T | Promise<T>
}

/** Writes the audit log, who did what. If an entry cannot be written, what it records does not happen. */
export function registerAuditTrail(server: FastifyInstance, context: ServiceContext): AuditTrail {
  const { randomness, clock, store, report } = context.deps
  const shares = newBuckets(MOST_SHARES, () => newBucket(SHARE))
  const strangers = newBuckets(MOST_SHARES, () => newBucket(STRANGER))
  const left = new Map<string, number>()

  function entryOf(request: FastifyRequest, who: Partial<Caller>): AuditEntry {
    const object = objectOf(request)
    const detail = detailOf(request)
    return {
      id: `audit-${randomness.uuid()}`,
      at: clock.now(),
      organizationId: who.organizationId ?? DEFAULT_ORGANIZATION,
      actor: who.actor ?? 'unknown',
      verb: verbOf(request),
      outcome: 'done',
      from: request.ip,
      requestId: request.id,
      ...defined({ userId: who.userId || undefined, object: object || undefined, detail: detail || undefined }),
    }
  }

  /** Refusals and failures beyond the share are counted, and the next entry says how many there were. */
  async function logEnd(request: FastifyRequest, who: Partial<Caller>, status: number): Promise<void> {
    const share = who.organizationId ?? `from ${addressGroup(request.ip)}`
    const bucket = (who.organizationId ? shares : strangers).of(share)
    const skipped = left.get(share) ?? 0
    if (bucket.take(Date.now()) > 0) {
      if (left.size < MOST_SHARES || left.has(share)) left.set(share, skipped + 1)
      return
    }
    left.delete(share)
    const entry = entryOf(request, who)
    const detail = skipped > 0 ? `after ${skipped} like it that are not in the log` : entry.detail
    // What it records has not happened, so a failed write is only reported.
    await store.audit
      .append({ ...entry, outcome: outcomeOf(status), status, ...defined({ detail }) })
      .catch((fault) => report(fault, `writing ${entry.verb} to the audit log`))
  }

  function logOnce(request: FastifyRequest, status: number): Promise<void> | undefined {
    if (request.isAudited || !request.caller || !isAuditable(request, status)) return undefined
    request.isAudited = true
    return logEnd(request, request.caller, status)
  }

  async function withEntry<T>(request: FastifyRequest, caller: Caller, work: () => T | Promise<T>): Promise<T> {
    const entry = entryOf(request, caller)
    if (operationOf(request)?.audit === 'before') {
      await store.audit.append({ ...entry, outcome: 'started' })
      return work()
    }
    const ticket = newAuditTicket(entry)
    try {
      const answer = await store.audit.within(ticket, async () => work())
      // Nothing changed, for example because it was so already.
      if (ticket.state !== 'written') await store.audit.append(entry)
      return answer
    } finally {
      ticket.state = 'closed'
    }
  }

  server.decorateRequest('isAudited', false)
  server.addHook('onSend', (request, reply, payload, done) => {
    const written = logOnce(request, reply.statusCode)
    if (!written) return done(null, payload)
    void written.then(() => done(null, payload))
  })

  return {
    refused(request, who, status) {
      request.isAudited = true
      void logEnd(request, who, status)
    },
    perform(request, work) {
      const audit = operationOf(request)?.audit ?? 'none'
      if (!request.caller || audit === 'none' || audit === 'by-verb') return work()
      return withEntry(request, request.caller, work)
    },
  }
}

/** Only what went wrong: an action that was done has its entry already. */
function isAuditable(request: FastifyRequest, status: number): boolean {
  if (status < 400) return false
  const audit = operationOf(request)?.audit ?? 'none'
  return audit !== 'none' || status === 403 || answersApproval(request.body)
}

/** Approvals are answered through the routes that send messages. */
function answersApproval(body: unknown): boolean {
  const messages = (body as { messages?: unknown } | null | undefined)?.messages
  return Array.isArray(messages) && messages.some((message) => message?.type === 'approval')
}

function verbOf({ method, routeOptions, body }: FastifyRequest): string {
  return answersApproval(body) ? 'approval.answer' : `${method} ${routeOptions.url ?? 'unknown route'}`
}

/** The last id in the path; other path text of the caller is never logged. */
function objectOf({ params }: FastifyRequest): string | undefined {
  return Object.values((params as Record<string, string> | undefined) ?? {}).findLast((value) => ID.test(value))
}

/** The name of a tool that runs, or the fields of a body; never their values. */
function detailOf({ params, body, routeOptions }: FastifyRequest): string | undefined {
  const { tool_name: tool } = (params as Record<string, string> | undefined) ?? {}
  if (tool !== undefined) return TOOL_NAME.test(tool) ? tool : undefined
  const known = routeOptions.config.operation?.body ? body : undefined
  if (known === null || typeof known !== 'object' || Array.isArray(known)) return undefined
  const fields = Object.entries(known).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  return fields.slice(0, MOST_FIELDS).join(', ')
}

const TOOL_NAME = /^[A-Za-z_][\w-]{0,63}$/
const MOST_FIELDS = 20

function outcomeOf(status: number): AuditOutcome {
  return status === 401 || status === 403 || status === 429 ? 'refused' : 'failed'
}
