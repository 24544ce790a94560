import 'fastify'

/** What routes share with the server they are registered at. */
export type Serving = {
  /** Aborted when the server begins to close: streams end without an end, so that clients come back. */
  closing: AbortSignal
  streams: { opened(): void; closed(): void }
  /** A digest of the key a request came with; what one key sent, another cannot repeat. */
  keyOf(authorization: string | undefined): string
}

declare module 'fastify' {
  interface FastifyInstance {
    serving: Serving
  }
}
