import { after, before, beforeEach, suite } from 'node:test'
import { MODEL, openServer, type Server, TOOLS } from '../fixture-server-process.ts'

/** One server for all tests of a file; each test has its own agents and a reset provider. */
export type BehaviorFixture = {
  server(): Server
  /** Creates an agent and returns its id; by default it has the tools of `TOOLS` and no memory. */
  newAgent(options?: Record<string, unknown>): Promise<string>
}

export type Behaviors = (fixture: BehaviorFixture) => void

export type ServerVariant = {
  name: string
  /** Environment of the server process; without it the server uses SQLite in its home. */
  environment?: Record<string, string>
  /** Why this variant cannot be tested on this machine. */
  skip?: string | undefined
}

/** Runs all behaviors against one server process. */
export function testOnServer({ name, environment, skip }: ServerVariant, all: readonly Behaviors[]): void {
  suite(name, { skip: skip ?? false }, () => {
    let server: Server | undefined
    const fixture: BehaviorFixture = {
      server: () => server!,
      async newAgent(options = {}) {
        const body = { model: MODEL, tools: TOOLS, include_base_tools: false, ...options }
        return (await server!.client.agents.create(body as never)).id
      },
    }
    before(async () => {
      server = await openServer(environment)
      // If no agent can be created, fail once here and not in every test.
      await fixture.newAgent()
    })
    beforeEach(() => server!.simulator.reset())
    after(() => server?.close())
    for (const behaviors of all) behaviors(fixture)
  })
}
