import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Limits, USUAL_LIMITS } from '../../src/core/limits.ts'
import type { Scope } from '../../src/core/people.ts'
import { startServer } from '../../src/http/server.ts'
import type { HouseOptions } from '../harness/house.ts'
import { type MemoryHouse, openMemoryHouse } from '../harness/memory-house.ts'
import { KEY } from './served.ts'

export type Answer = { status: number; headers: Headers; body: never }

export type Ask = (method: string, path: string, body?: unknown) => Promise<Answer>

export type MadeKey = { id: string; key: string; prefix: string }

export type KeyedHouse = {
  house: MemoryHouse
  url: string
  /** What the server wrote to its log. */
  log: string[]
  /** Whoever has this key; the home's own by default. */
  as(key?: string): Ask
  makeKey(wish: { scope: Scope; organization_id?: string; user_id?: string; expires_at?: string }): Promise<MadeKey>
  makeOrganization(name: string): Promise<string>
}

/** A server on loopback in this process, and people with keys of their own before it. */
export async function serveKeyed(
  context: TestContext,
  { limits, ...options }: HouseOptions & { limits?: Partial<Limits> } = {},
): Promise<KeyedHouse> {
  const house = await openMemoryHouse(context, options)
  const log: string[] = []
  const server = await startServer({
    desk: { ...house.desk, limits: { ...USUAL_LIMITS, ...limits } },
    ...{ host: '127.0.0.1', port: 0, apiKey: KEY, version: 'test', log: (line: string) => void log.push(line) },
    report: (fault) => void house.faults.push(fault),
  })
  context.after(() => server.close())
  const as =
    (key = KEY): Ask =>
    async (method, path, body) => {
      const response = await fetch(`${server.url}${path}`, { method, ...requestOf(key, body) })
      const text = await response.text()
      return { status: response.status, headers: response.headers, body: textOrJson(text) as never }
    }
  return {
    ...{ house, url: server.url, log, as },
    async makeKey(wish) {
      const { status, body } = await as()('POST', '/v1/keys', { name: `a ${wish.scope} key`, ...wish })
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
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
})

function textOrJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
