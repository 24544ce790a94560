import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AuditEntry, AuditOutcome } from '../core/audit.ts'
import { defined } from '../core/defined.ts'
import { DEFAULT_ORGANIZATION } from '../core/id.ts'
import type { Caller } from '../core/people.ts'
import type { ServiceContext } from '../service/service-context.ts'
import { newBucket } from './rate-limit.ts'
import { operationOf } from './register.ts'

const ID = /^[a-z]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Rate limit of logged refusals: a flood of them must not fill the disk. */
const REFUSAL_RATE = { perSecond: 2, burst: 100 }

type AuditTrail = {
  /** Logs a request that was not admitted. */
  refused(request: FastifyRequest, who: Partial<Caller>, status: number): void
}

/** Writes the audit log, who did what, before the answer is sent. */
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

  /** A failed write is reported and does not undo the request. */
  const write = (entry: AuditEntry): Promise<void> =>
    store.audit.append(entry).catch((fault) => report(fault, `writing ${entry.verb} to the audit log`))

  function logOnce(request: FastifyRequest, status: number): Promise<void> | undefined {
    if (request.isAudited || !request.caller || !isAuditable(request, status)) return undefined
    request.isAudited = true
    return write(entryOf(request, status, request.caller))
  }

  server.decorateRequest('isAudited', false)
  server.addHook('onSend', (request, reply, payload, done) => {
    const written = logOnce(request, reply.statusCode)
    if (!written) return done(null, payload)
    void written.then(() => done(null, payload))
  })
  // `onSend` does not run for streams, and their readers may disconnect early, so they are logged when the socket
  // closes.
  server.addHook('preHandler', (request, reply, done) => {
    if (answersApproval(request.body)) reply.raw.once('close', () => void logOnce(request, reply.raw.statusCode))
    done()
  })

  return {
    refused(request, who, status) {
      request.isAudited = true
      if (refusals.take(Date.now()) === 0) void write(entryOf(request, status, who))
    },
  }
}

function isAuditable(request: FastifyRequest, status: number): boolean {
  const audit = operationOf(request)?.audit ?? 'none'
  if (audit === 'none') return answersApproval(request.body)
  return audit === 'by-request' || status >= 400
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

function outcomeOf(status: number): AuditOutcome {
  if (status < 400) return 'done'
  return status === 401 || status === 403 || status === 429 ? 'refused' : 'failed'
}
