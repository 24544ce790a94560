import type { TestContext } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { defined } from '../../src/core/defined.ts'
import { startServer } from '../../src/http/server.ts'
import type { HomeFixtureOptions } from '../harness/fixture-home.ts'
import { type MemoryFixture, openMemoryFixture } from '../harness/fixture-memory.ts'
import { KEY } from './fixture-server-process.ts'

export type ResourceServerFixture = {
  fixture: MemoryFixture
  client: Letta
  url: string
  /** Sends a request as the client would, without the client. */
  fetch(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: never }>
}

/** The official client with a server on loopback in this process. */
export async function serveFixture(
  context: TestContext,
  options: HomeFixtureOptions = {},
): Promise<ResourceServerFixture> {
  const fixture = await openMemoryFixture(context, options)
  const report = (fault: unknown) => void fixture.faults.push(fault)
  const server = await startServer({
    context: fixture.context,
    host: '127.0.0.1',
    port: 0,
    apiKey: KEY,
    version: 'test',
    report,
  })
  context.after(() => server.close())
  return {
    fixture,
    url: server.url,
    client: new Letta({ baseURL: server.url, apiKey: KEY, maxRetries: 0 }),
    async fetch(method, path, body, more) {
      const type = body === undefined ? undefined : 'application/json'
      const headers = { authorization: `Bearer ${KEY}`, ...defined({ 'content-type': type }), ...more }
      const init = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
      const response = await fetch(`${server.url}${path}`, { method, headers, ...init })
      return { status: response.status, body: (await response.json()) as never }
    },
  }
}

export const statusOf = async (work: Promise<unknown>): Promise<number | undefined> =>
  work.then(
    () => 200,
    (fault: { status?: number }) => fault.status,
  )
