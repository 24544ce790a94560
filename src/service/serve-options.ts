import type { ServiceContext } from './service-context.ts'

/** What `holdfast serve` passes to the server. */
export type ServeOptions = {
  context: ServiceContext
  home: string
  host: string
  port: number
  version: string
  /** HOLDFAST_API_KEY; without it the server uses the key file of the home. */
  environmentKey?: string
  report(fault: unknown, where: string): void
  log?(line: string): void
}

export type InProcessOptions = Pick<ServeOptions, 'context' | 'version'>

/** The operations of the server without an address. */
export type InProcessServer = {
  /** Carries out a request as the server would. */
  send(path: string, init: RequestInit): Promise<Response>
  close(): Promise<void>
}
