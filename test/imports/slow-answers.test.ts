import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { type Listed, listPages } from '../../src/http/letta/old-server/pages.ts'
import { newOldServer } from '../../src/http/letta/old-server/requests.ts'
import type { OldRequest, OldServerOptions } from '../harness/old-server/old-server.ts'
import { agentId } from '../harness/old-server/old-world.ts'
import { oldServerFor } from './fixture-import.ts'

async function slowServer(context: TestContext, bodyMs: number, options: OldServerOptions) {
  const { url } = await oldServerFor(context, options)
  const { signal } = new AbortController()
  return newOldServer({ url, fetch, signal, clock: realClock, bodyMs })
}

const limitOf = ({ query }: OldRequest): number => Number(query.get('limit'))

test('a body that trickles for ever is asked for again with fewer objects, and named if even one takes too long', async (context) => {
  const limits: number[] = []
  const server = await slowServer(context, 100, {
    faultOf(request) {
      limits.push(limitOf(request))
      return { type: 'drip' }
    },
  })
  const pages = []
  for await (const page of listPages(server, '/v1/blocks/', { limit: 50 })) pages.push(page)
  assert.deepEqual(limits, [50, 12, 3, 1])
  const reason = 'GET /v1/blocks/ is still arriving after 1 s, even for one object'
  assert.deepEqual(pages, [{ type: 'broken', reason, after: undefined }])
  const one = await server.get('/v1/agents/x')
  assert.deepEqual(one, { type: 'too-large', reason: 'GET /v1/agents/x is still arriving after 1 s' })
})

test('where only large pages trickle, every object is read, in smaller pages from then on', async (context) => {
  const limits: number[] = []
  const server = await slowServer(context, 1_000, {
    size: { agents: 30 },
    faultOf(request) {
      limits.push(limitOf(request))
      return limitOf(request) > 20 ? { type: 'drip' } : undefined
    },
  })
  const found: Listed[] = []
  for await (const page of listPages(server, '/v1/agents/', { limit: 50 })) {
    assert.equal(page.type, 'page')
    if (page.type === 'page') found.push(...page.items)
  }
  assert.deepEqual(
    found.map(({ id }) => id),
    Array.from({ length: 30 }, (_, index) => agentId(index)),
  )
  assert.deepEqual(limits, [50, 12, 12, 12, 12])
})
