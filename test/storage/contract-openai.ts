import assert from 'node:assert/strict'
import type { ConversationId } from '../../src/core/id.ts'
import type { PlacedRequest } from '../../src/ports/openai-store.ts'
import type { ContractTests } from './contract.ts'
import { AT, createAgent, ORGANIZATION, OTHER_ORGANIZATION, openRun, requireOpened } from './fixture-storage.ts'

const newConversation = (): ConversationId => `conv-${crypto.randomUUID()}`

const placed = (more: Partial<PlacedRequest> = {}): PlacedRequest => ({
  organizationId: ORGANIZATION,
  fingerprint: 'a request',
  isRetry: false,
  at: AT,
  conversationId: newConversation(),
  windowMs: 1_000,
  ...more,
})

export const OPENAI: ContractTests = {
  'copies of a request without a conversation get the one of the first, and a new request its own': async ({
    store,
  }) => {
    const fingerprint = crypto.randomUUID()
    const place = (more: Partial<PlacedRequest>) => store.openai.place(placed({ fingerprint, ...more }))
    const first = await place({})
    assert.equal(await place({ isRetry: true, at: AT + 900 }), first)
    const second = await place({ at: AT + 950 })
    assert.notEqual(second, first)
    assert.equal(await place({ isRetry: true, at: AT + 960 }), second)
    assert.notEqual(await place({ isRetry: true, at: AT + 3_000 }), second, 'the retry is too late')
    assert.notEqual(await place({ organizationId: OTHER_ORGANIZATION, isRetry: true, at: AT + 3_001 }), second)
  },

  'a request that its own retry overtook gets the conversation of the retry, once': async ({ store }) => {
    const fingerprint = crypto.randomUUID()
    const place = (more: Partial<PlacedRequest>) => store.openai.place(placed({ fingerprint, ...more }))
    const ofRetry = await place({ isRetry: true, at: AT + 10 })
    assert.equal(await place({ at: AT }), ofRetry)
    assert.notEqual(await place({ at: AT }), ofRetry, 'the next equal request is a new one')
  },

  'copies at the same moment agree on one conversation': async ({ store }) => {
    const fingerprint = crypto.randomUUID()
    const copies = [false, true, true, true].map((isRetry, index) =>
      store.openai.place(placed({ fingerprint, isRetry, at: AT + index })),
    )
    assert.equal(new Set(await Promise.all(copies)).size, 1)
  },

  'a conversation that a client created keeps its items, and its metadata changes': async ({ store }) => {
    const id = newConversation()
    const created = { id, organizationId: ORGANIZATION, metadata: { a: 'b' }, items: ['one'], createdAt: AT }
    await store.openai.createConversation(created)
    assert.deepEqual(await store.openai.conversation(ORGANIZATION, id), created)
    assert.equal(await store.openai.conversation(OTHER_ORGANIZATION, id), undefined)
    await store.openai.saveConversation({ ...created, metadata: { c: 'd' } })
    assert.deepEqual(await store.openai.conversation(ORGANIZATION, id), { ...created, metadata: { c: 'd' } })
    assert.equal(await store.openai.deleteConversation(OTHER_ORGANIZATION, id), false)
    assert.equal(await store.openai.deleteConversation(ORGANIZATION, id), true)
    assert.equal(await store.openai.conversation(ORGANIZATION, id), undefined)
  },

  'a run is found by the fingerprint of its request, and a deleted response is remembered until its agent goes':
    async ({ store }) => {
      const agent = await createAgent(store)
      const request = { digest: 'said', otids: [], isRetry: false, fingerprint: crypto.randomUUID() }
      const { id } = requireOpened(await store.runs.open(openRun(agent, { run: { request, createdAt: AT } })))
      const { conversationId } = agent
      assert.equal(await store.runs.findByFingerprint(conversationId, request.fingerprint, AT - 1), id)
      assert.equal(await store.runs.findByFingerprint(conversationId, request.fingerprint, AT), undefined)
      assert.deepEqual(await store.runs.askersOf(ORGANIZATION, agent.agentId, 'no such call'), [])
      await store.openai.deleteResponse(ORGANIZATION, id)
      await store.openai.deleteResponse(ORGANIZATION, id)
      assert.equal(await store.openai.isResponseDeleted(ORGANIZATION, id), true)
      assert.equal(await store.openai.isResponseDeleted(OTHER_ORGANIZATION, id), false)
      await store.agents.delete(ORGANIZATION, agent.agentId)
      assert.equal(await store.openai.isResponseDeleted(ORGANIZATION, id), false)
    },
}
