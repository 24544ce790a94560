import { after, before, beforeEach, suite } from 'node:test'
import { MODEL, openServer, type Server, TOOLS } from '../fixture-server-process.ts'

/** One server for all tests of a file; each test has agents of its own and a provider that has heard nothing yet. */
export type BehaviorFixture = {
  server(): Server
  /** The id of a new agent; without wishes it has the tools of `TOOLS` and no memory. */
  newAgent(wishes?: Record<string, unknown>): Promise<string>
}

export type Behaviors = (house: BehaviorFixture) => void

export type ServerVariant = {
  name: string
  /** What the process needs to know to be there; without it, SQLite in its home. */
  environment?: Record<string, string>
  /** Why this cannot be tried here. */
  skip?: string | undefined
}

/** Tries behaviors, each written once, before one server process. */
export function testOnServer({ name, environment, skip }: ServerVariant, all: readonly Behaviors[]): void {
  suite(name, { skip: skip ?? false }, () => {
    let server: Server | undefined
    const fixture: BehaviorFixture = {
      server: () => server!,
      async newAgent(wishes = {}) {
        const body = { model: MODEL, tools: TOOLS, include_base_tools: false, ...wishes }
        return (await server!.client.agents.create(body as never)).id
      },
    }
    before(async () => {
      server = await openServer(environment)
      // One failure that says it is better than one in every test.
      await fixture.newAgent()
    })
    beforeEach(() => server!.simulator.reset())
    after(() => server?.close())
    for (const behaviors of all) behaviors(fixture)
  })
}
