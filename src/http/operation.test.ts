import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { operation } from './operation.ts'

const answer = z.object({ name: z.string() })
const params = { agent_id: z.string() }
const handle = () => ({ name: 'ada' })

test('an operation has a method and a path, is JSON by default, and is audited by default if it may change something', () => {
  const declared = { scope: 'read', summary: 'Shows', params, answer, handle } as const
  const { method, path, consumes, streams, audit } = operation({ route: 'GET /v1/agents/:agent_id', ...declared })
  assert.deepEqual([method, path], ['GET', '/v1/agents/:agent_id'])
  assert.deepEqual([consumes, streams, audit], ['application/json', 'never', 'none'])
  const changing = { ...declared, scope: 'agent' as const }
  assert.equal(operation({ route: 'DELETE /v1/agents/:agent_id', ...changing }).audit, 'with-change')
})

test('an operation without a scope, or whose handler does not match its schemas, does not compile', () => {
  // The compiler is the test: each of these must be an error, or `tsc` fails.
  const refused = [
    // @ts-expect-error: no scope
    () => operation({ route: 'GET /v1/agents', summary: 'Lists', answer, handle }),
    // @ts-expect-error: a path parameter without a schema
    () => operation({ route: 'GET /v1/agents/:agent_id', scope: 'read', summary: 'Shows', answer, handle }),
    () =>
      operation({
        route: 'GET /v1/agents/:agent_id',
        scope: 'read',
        summary: 'Shows',
        // @ts-expect-error: a schema for a parameter that the path does not have
        params: { ...params, block_id: z.string() },
        answer,
        handle,
      }),
    () =>
      operation({
        route: 'GET /v1/agents',
        scope: 'read',
        summary: 'Lists',
        answer,
        // @ts-expect-error: an answer that differs from its description
        handle: () => ({ label: 'ada' }),
      }),
    () =>
      operation({
        route: 'GET /v1/agents',
        scope: 'read',
        summary: 'Lists',
        query: z.object({ limit: z.number() }),
        answer,
        // @ts-expect-error: a query that is not described
        handle: ({ query }) => ({ name: query.order }),
      }),
  ]
  assert.equal(refused.length, 5)
})
