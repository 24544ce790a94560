import 'fastify'
import type { OrganizationId } from '../core/id.ts'
import type { Caller, KeyId } from '../core/people.ts'
import type { HookTraffic } from '../service/hooks/receive-delivery.ts'
import type { OpenTraffic } from '../service/people/limits.ts'
import type { ConsoleSessions } from './console-session.ts'
import type { ErrorTable, RefusalBody } from './errors.ts'
import type { KeepAliveTimer } from './event-stream.ts'
import type { InFlight } from './in-flight.ts'
import type { Metrics } from './metrics.ts'
import type { Operation } from './operation.ts'
import type { StreamShare } from './tenant-traffic.ts'

/** What the handlers of routes share with their server. */
type ServerContext = {
  version: string
  metrics: Pick<Metrics, 'page'>
  /** Whether runs can be accepted. */
  isReady(): Promise<boolean>
  /** The OpenAPI document, and the API page for the address that the client uses. */
  description: { document(): string; page(address: string): string }
  keepAliveTimer: KeepAliveTimer
  /** How long the reader of an answer may take nothing. */
  stalledMs: number
  /** Aborted when the server starts to close: streams end without `[DONE]`, so that clients reconnect. */
  closing: AbortSignal
  /** Aborted when draining starts: new requests are refused, current ones continue. */
  draining: AbortSignal
  streams: { opened(): void; closed(): void }
  sessions: ConsoleSessions
  hookTraffic: HookTraffic
  /**
   * Digest of a request's key. It is part of the retry fingerprint: a request of one key is never a retry of another's.
   */
  keyOf(authorization: string | undefined): string
  /** What an organization, and one of its keys, have open now. */
  trafficOf(of: { organizationId: OrganizationId; keyId?: KeyId }): OpenTraffic
  /** Invalidates the key cache after keys have changed. */
  recheckKeys(): Promise<void>
}

declare module 'fastify' {
  interface FastifyInstance {
    serverContext: ServerContext
  }
  interface FastifyContextConfig {
    operation?: Operation
    errors?: ErrorTable
    refusal?: RefusalBody
  }
  interface FastifyRequest {
    /** Undefined on routes that need no key. */
    caller: Caller | undefined
    /** Whether the audit log has an entry for this request. */
    isAudited: boolean
    inFlight: InFlight
    /** Undefined for the home's own key and on routes that need no key. */
    streamShare: StreamShare | undefined
  }
}
