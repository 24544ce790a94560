import type { ServiceContext } from './service-context.ts'

/** How a home is to be served: `holdfast serve` says it, the server carries it out. */
export type ServeOptions = {
  context: ServiceContext
  home: string
  host: string
  port: number
  version: string
  /** The key of the environment; without it the home's own. */
  environmentKey?: string
  report(fault: unknown, where: string): void
  log?(line: string): void
}
