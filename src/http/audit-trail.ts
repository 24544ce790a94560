import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AuditEntry, AuditOutcome } from '../core/audit.ts'
import { defined } from '../core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../core/id.ts'
import type { Caller } from '../core/people.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { newBucket } from './rate-limit.ts'
import { operationOf } from './register.ts'

const ID = /^[a-z]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Refusals of strangers that are written down at once; a flood of them must not fill the disk. */
const REFUSAL_RATE = { perSecond: 2, burst: 100 }

type AuditTrail = {
  /** Somebody was not let in, or not allowed. */
  refused(request: FastifyRequest, who: Partial<Caller>, status: number): void
}

/** Writes down who did what, before the answer goes out. */
export function registerAuditTrail(server: FastifyInstance, context: ServiceContext): AuditTrail {
  const { randomness, clock, store, report } = context.deps
  const refusals = newBucket(REFUSAL_RATE)

  function entryOf(request: FastifyRequest, status: number, who: Partial<Caller>): AuditEntry {
    const object = objectOf(request)
    return {
      id: `audit-${randomness.uuid()}`,
      at: clock.now(),
      organizationId: who.organizationId ?? DEFAULT_ORGANIZATION,
      actor: who.actor ?? 'unknown',
      verb: verbOf(request),
      outcome: outcomeOf(status),
      status,
      from: request.ip,
      requestId: request.id,
      ...defined({ userId: who.userId || undefined, object: object || undefined }),
    }
  }

  /** What was done is done: a log that cannot be written is reported and takes nothing back. */
  const write = (entry: AuditEntry): Promise<void> =>
    store.audit.append(entry).catch((fault) => report(fault, `audit log: ${entry.verb}`))

  function tell(request: FastifyRequest, status: number): Promise<void> | undefined {
    if (request.isAccounted || !request.caller || !isAuditable(request, status)) return undefined
    request.isAccounted = true
    return write(entryOf(request, status, request.caller))
  }

  server.decorateRequest('isAccounted', false)
  server.addHook('onSend', (request, reply, payload, done) => {
    const written = tell(request, reply.statusCode)
    if (!written) return done(null, payload)
    void written.then(() => done(null, payload))
  })
  // A stream has no moment before its answer goes out, and may be left before its end.
  server.addHook('preHandler', (request, reply, done) => {
    if (answersApproval(request.body)) reply.raw.once('close', () => void tell(request, reply.raw.statusCode))
    done()
  })

  return {
    refused(request, who, status) {
      request.isAccounted = true
      if (refusals.take(Date.now()) === 0) void write(entryOf(request, status, who))
    },
  }
}

function isAuditable(request: FastifyRequest, status: number): boolean {
  const audit = operationOf(request)?.audit ?? 'none'
  if (audit === 'none') return answersApproval(request.body)
  return audit === 'by-request' || status >= 400
}

/** An approval is answered where messages are sent. */
function answersApproval(body: unknown): boolean {
  const messages = (body as { messages?: unknown } | null | undefined)?.messages
  return Array.isArray(messages) && messages.some((message) => message?.type === 'approval')
}

function verbOf({ method, routeOptions, body }: FastifyRequest): string {
  return answersApproval(body) ? 'approval.answer' : `${method} ${routeOptions.url ?? 'unknown route'}`
}

/** The last id of the path; never what else a caller may have written there. */
function objectOf({ params }: FastifyRequest): string | undefined {
  return Object.values((params as Record<string, string> | undefined) ?? {}).findLast((value) => ID.test(value))
}

function outcomeOf(status: number): AuditOutcome {
  if (status < 400) return 'done'
  return status === 401 || status === 403 || status === 429 ? 'refused' : 'failed'
}
