import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OrganizationId } from '../../src/core/id.ts'
import type { Target } from '../../src/core/target.ts'
import { newTextEmbedder } from '../../src/jobs/embed-texts.ts'
import type { Embeddings } from '../../src/ports/embeddings.ts'
import type { NewVector, VectorStore, WaitingText } from '../../src/ports/vector-store.ts'
import { embedWithinShare } from '../../src/service/search/embed-within-share.ts'
import { serveKeyed } from './fixture-keyed-server.ts'

const TARGET: Target = { provider: 'test', model: 'near' }

/** An embedding model that answers every text with the same vector. */
function embeddingModel() {
  const asked: (readonly string[])[] = []
  const embeddings: Embeddings = {
    defaultModel: 'test/near',
    messages: false,
    embedder: {
      serves: () => true,
      dimensionsOf: () => 2,
      embed: async (_, texts) => {
        asked.push(texts)
        return { type: 'vectors', vectors: texts.map(() => [0, 1]) }
      },
    },
  }
  return { asked, embeddings }
}

test('embeddings count in the spending of their organization, and over its limit no text is sent', async (context) => {
  const { as, makeOrganization, fixture } = await serveKeyed(context)
  const id = (await makeOrganization('acme')) as OrganizationId
  await as()('PATCH', `/v1/organizations/${id}/limits`, { limits: { tokens_per_day_per_organization: 100 } })
  const { asked, embeddings } = embeddingModel()
  const { shares } = fixture.context.deps
  const options = { purpose: 'question' as const, signal: new AbortController().signal }
  const embed = (text: string) =>
    embedWithinShare({ target: TARGET, texts: [text], payer: { organizationId: id, shares } }, options, embeddings)
  assert.equal((await embed('x'.repeat(240))).type, 'vectors')
  const shown = (await as()('GET', `/v1/limits?organization_id=${id}`)).body as { unpriced: object[] }
  assert.deepEqual(shown.unpriced, [{ model: 'test/near', tokens: 60 }])
  const refused = await embed('x'.repeat(240))
  assert.ok(refused.type === 'failure')
  assert.equal(refused.failure.kind, 'spending-limit')
  assert.match(refused.failure.detail, /100 tokens a day.*no text was sent/)
  assert.equal(asked.length, 1)
})

test('texts of an organization at its limit wait, and those of others are embedded', async () => {
  const { asked, embeddings } = embeddingModel()
  const [poor, rich]: OrganizationId[] = ['org-poor' as OrganizationId, 'org-rich' as OrganizationId]
  const texts = [poor, rich, poor, rich].map((organizationId, index) => ({
    number: index + 1,
    agentId: `agent-${organizationId}`,
    organizationId,
    text: `${organizationId} ${index}`,
  })) as WaitingText[]
  const kept: NewVector[] = []
  const vectors = {
    waiting: async (after: number) => texts.filter(({ number }) => number > after),
    keep: async (some: NewVector[]) => void kept.push(...some),
    models: async () => [],
  } as unknown as VectorStore
  const embedder = newTextEmbedder({
    vectors,
    agents: { get: async () => undefined },
    embeddings,
    clock: { monotonic: () => 0 },
    shares: {
      reserve: async ({ organizationId }: { organizationId: OrganizationId }) =>
        organizationId === poor
          ? { type: 'refused', detail: 'over the limit' }
          : { type: 'reserved', settle: async () => undefined },
    } as never,
  })
  await embedder.work(new AbortController().signal)
  assert.deepEqual(
    kept.map(({ number }) => number),
    [2, 4],
  )
  assert.deepEqual(asked, [['org-rich 1', 'org-rich 3']])
})
