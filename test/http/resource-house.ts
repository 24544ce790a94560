import type { TestContext } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { startServer } from '../../src/http/server.ts'
import type { HouseOptions } from '../harness/house.ts'
import { type MemoryHouse, openMemoryHouse } from '../harness/memory-house.ts'
import { KEY } from './served.ts'

export type ResourceHouse = {
  house: MemoryHouse
  client: Letta
  /** What the client would send, by hand. */
  fetch(method: string, path: string, body?: unknown): Promise<{ status: number; body: never }>
}

/** The official client before a server on loopback, in this process. */
export async function serveHouse(context: TestContext, options: HouseOptions = {}): Promise<ResourceHouse> {
  const house = await openMemoryHouse(context, options)
  const report = (fault: unknown) => void house.faults.push(fault)
  const server = await startServer({
    ...{ desk: house.desk, host: '127.0.0.1', port: 0, apiKey: KEY, version: 'test', report },
  })
  context.after(() => server.close())
  return {
    house,
    client: new Letta({ baseURL: server.url, apiKey: KEY, maxRetries: 0 }),
    async fetch(method, path, body) {
      const headers = {
        authorization: `Bearer ${KEY}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      }
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
