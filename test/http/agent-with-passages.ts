import assert from 'node:assert/strict'
import type { KeyedServerFixture } from './fixture-keyed-server.ts'

/** An agent with so many passages of so many characters; its id. */
export async function agentWithPassages(served: KeyedServerFixture, { count, size }: { count: number; size: number }) {
  const { as } = served
  const { id } = (await as()('POST', '/v1/agents', { name: 'big', model: 'test/model' })).body as { id: string }
  for (let index = 0; index < count; index++)
    assert.equal(
      (await as()('POST', `/v1/agents/${id}/archival-memory`, { text: `${index} ${'x'.repeat(size)}` })).status,
      200,
    )
  return id
}
