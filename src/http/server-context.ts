import 'fastify'
import type { Caller } from '../core/people.ts'
import type { ErrorTable } from './errors.ts'
import type { KeepAliveTimer } from './event-stream.ts'
import type { Metrics } from './metrics.ts'
import type { Operation } from './operation.ts'

/** What routes share with the server they are registered at. */
type ServerContext = {
  version: string
  metrics: Pick<Metrics, 'page'>
  /** Whether runs can be accepted. */
  isReady(): Promise<boolean>
  /** What is served, for programs and for people who reach this server at an address. */
  description: { document(): string; page(address: string): string }
  quietStreams: KeepAliveTimer
  /** Aborted when the server begins to close: streams end without an end, so that clients come back. */
  closing: AbortSignal
  /** Aborted when nothing new is accepted any more; what is being answered goes on. */
  draining: AbortSignal
  streams: { opened(): void; closed(): void }
  /** A digest of the key a request came with; what one key sent, another cannot repeat. */
  keyOf(authorization: string | undefined): string
  /** Keys may have changed: nothing that was known of them holds any more. */
  recheckKeys(): Promise<void>
}

declare module 'fastify' {
  interface FastifyInstance {
    serving: ServerContext
  }
  interface FastifyContextConfig {
    operation?: Operation
    errors?: ErrorTable
  }
  interface FastifyRequest {
    /** Undefined where no key is needed. */
    caller: Caller | undefined
    /** The audit log has a line about it. */
    isAccounted: boolean
  }
}
