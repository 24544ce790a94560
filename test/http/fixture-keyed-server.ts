import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { defined } from '../../src/core/defined.ts'
import { DEFAULT_LIMITS, type Limits } from '../../src/core/limits.ts'
import type { Scope } from '../../src/core/people.ts'
import type { Price } from '../../src/core/price.ts'
import type { Target } from '../../src/core/target.ts'
import { newShares } from '../../src/engine/shares.ts'
import { startServer } from '../../src/http/server.ts'
import type { HomeFixtureOptions } from '../harness/fixture-home.ts'
import { type MemoryFixture, openMemoryFixture } from '../harness/fixture-memory.ts'
import { KEY } from './fixture-server-process.ts'

export type Answer = { status: number; headers: Headers; body: never }

export type SendHttp = (method: string, path: string, body?: unknown) => Promise<Answer>

export type CreatedKey = { id: string; key: string; prefix: string }

export type KeyedServerFixture = {
  fixture: MemoryFixture
  url: string
  /** What the server wrote to its log. */
  log: string[]
  /** Sends requests with this key; by default with the key of the home. */
  as(key?: string): SendHttp
  makeKey(options: {
    scope: Scope
    organization_id?: string
    user_id?: string
    expires_at?: string
  }): Promise<CreatedKey>
  makeOrganization(name: string): Promise<string>
}

type KeyedServerOptions = HomeFixtureOptions & {
  limits?: Partial<Limits>
  /** Absent: no model has a known price. */
  priceOf?(target: Target): Price | undefined
}

/** A server on loopback in this process, with keys, users and organizations. */
export async function serveKeyed(
  context: TestContext,
  { limits: changed, priceOf = () => undefined, ...options }: KeyedServerOptions = {},
): Promise<KeyedServerFixture> {
  const fixture = await openMemoryFixture(context, options)
  const limits = { ...DEFAULT_LIMITS, ...changed }
  const { deps } = fixture.context
  deps.shares = newShares({ store: deps.store.shares, clock: deps.clock, limits, priceOf })
  const log: string[] = []
  const server = await startServer({
    context: { ...fixture.context, limits },
    host: '127.0.0.1',
    port: 0,
    apiKey: KEY,
    version: 'test',
    log: (line: string) => void log.push(line),
    report: (fault) => void fixture.faults.push(fault),
  })
  context.after(() => server.close())
  const as =
    (key = KEY): SendHttp =>
    async (method, path, body) => {
      const response = await fetch(`${server.url}${path}`, { method, ...requestOf(key, body) })
      const text = await response.text()
      return { status: response.status, headers: response.headers, body: textOrJson(text) as never }
    }
  return {
    fixture,
    url: server.url,
    log,
    as,
    async makeKey(options) {
      const { status, body } = await as()('POST', '/v1/keys', { name: `a ${options.scope} key`, ...options })
      assert.equal(status, 200, JSON.stringify(body))
      return body
    },
    async makeOrganization(name) {
      const { status, body } = await as()('POST', '/v1/organizations', { name })
      assert.equal(status, 200, JSON.stringify(body))
      return (body as { id: string }).id
    },
  }
}

export const requestOf = (key: string, body?: unknown): RequestInit => ({
  headers: {
    authorization: `Bearer ${key}`,
    ...defined({ 'content-type': body === undefined ? undefined : 'application/json' }),
  },
  ...defined({ body: body === undefined ? undefined : JSON.stringify(body) }),
})

function textOrJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
