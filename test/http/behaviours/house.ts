import { after, before, beforeEach, suite } from 'node:test'
import { MODEL, openServer, type Server, TOOLS } from '../served.ts'

/** One server for all tests of a file; each test has agents of its own and a provider that has heard nothing yet. */
export type House = {
  server(): Server
  /** The id of a new agent; without wishes it has the tools of `TOOLS` and no memory. */
  newAgent(wishes?: Record<string, unknown>): Promise<string>
}

export type Behaviours = (house: House) => void

export type Place = {
  name: string
  /** What the process needs to know to be there; without it, SQLite in its home. */
  environment?: Record<string, string>
  /** Why this cannot be tried here. */
  skip?: string | undefined
}

/** Tries behaviours, each written once, before one server process. */
export function serveAt({ name, environment, skip }: Place, all: readonly Behaviours[]): void {
  suite(name, { skip: skip ?? false }, () => {
    let server: Server | undefined
    const house: House = {
      server: () => server!,
      async newAgent(wishes = {}) {
        const body = { model: MODEL, tools: TOOLS, include_base_tools: false, ...wishes }
        return (await server!.client.agents.create(body as never)).id
      },
    }
    before(async () => {
      server = await openServer(environment)
      // One failure that says it is better than one in every test.
      await house.newAgent()
    })
    beforeEach(() => server!.simulator.reset())
    after(() => server?.close())
    for (const behaviours of all) behaviours(house)
  })
}
