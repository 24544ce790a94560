import assert from 'node:assert/strict'
import type { Conversation } from '../../src/core/agent.ts'
import type { Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  type AgentConversation,
  AT,
  asHolder,
  createAgent,
  createRunningRun,
  createWaitingRun,
  entry,
  fault,
  finish,
  newId,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  openRun,
  says,
} from './fixture-storage.ts'

async function createConversation(
  store: Store,
  { agentId }: AgentConversation,
  more: Partial<Conversation> = {},
): Promise<AgentConversation> {
  const conversation: Conversation = {
    id: newId.conversation(),
    organizationId: ORGANIZATION,
    agentId,
    isDefault: false,
    createdAt: AT,
    contextStart: 0,
    nextPosition: 0,
    ...more,
  }
  await store.conversations.create(conversation)
  return { agentId, conversationId: conversation.id }
}

async function addMessages(store: Store, agent: AgentConversation, ...texts: string[]): Promise<void> {
  const run = await createRunningRun(store, agent)
  const facts = texts.map((text) => entry(fault('said'), says(run.id, text)))
  await store.events.append(asHolder(run, { facts }))
  await finish(store, run)
}

const everything = { limit: 100, order: 'asc' as const }
const messagesIn = (store: Store, { conversationId }: AgentConversation) =>
  store.messages.list(ORGANIZATION, conversationId, { limit: 100, take: 'oldest' })
const idsOf = (items: readonly { id: string }[] | undefined) => items?.map(({ id }) => id)
const sentences = (items: readonly { body: object }[] | undefined) =>
  items?.map(({ body }) => ('content' in body ? (body.content as [{ text: string }])[0].text : ''))

async function forkConversation(
  store: Store,
  agent: AgentConversation,
  more: Partial<Conversation> = {},
): Promise<AgentConversation> {
  const source = (await store.conversations.get(ORGANIZATION, agent.conversationId))!
  const fork = { ...source, id: newId.conversation(), isDefault: false, ...more }
  assert.equal(await store.conversations.fork(source.id, fork), 'forked')
  return { agentId: agent.agentId, conversationId: fork.id }
}

export const CONVERSATIONS: ContractTests = {
  'a conversation stores its details and is found by them': async ({ store }) => {
    const agent = await createAgent(store)
    const details = {
      summary: '100% "Whales"',
      description: 'about them',
      model: 'test/other' as const,
      wire: { a: [1] },
    }
    const whales = await createConversation(store, agent, { details })
    const hidden = await createConversation(store, agent, { details: { hidden: true } })
    const plain = await createConversation(store, agent, { archivedAt: AT })
    const get = (id: Conversation['id']) => store.conversations.get(ORGANIZATION, id)
    assert.deepEqual((await get(whales.conversationId))?.details, details)
    const find = async (filter: object, page: object = {}) =>
      idsOf(await store.conversations.search(ORGANIZATION, filter, { ...everything, ...page }))
    assert.deepEqual(await find({}), [whales.conversationId])
    assert.deepEqual(await find({ archived: 'only' }), [plain.conversationId])
    assert.deepEqual(await find({ archived: 'too', agentId: agent.agentId }, { order: 'desc' }), [
      plain.conversationId,
      whales.conversationId,
    ])
    assert.deepEqual(await find({ text: '0% "wha' }), [whales.conversationId])
    assert.deepEqual(await find({ text: '%x' }), [])
    assert.deepEqual(await find({ agentId: newId.agent() }), [])
    assert.equal(await find({}, { after: newId.conversation() }), undefined)
    assert.deepEqual(await store.conversations.search(OTHER_ORGANIZATION, {}, everything), [])
    assert.equal((await get(hidden.conversationId))?.details?.hidden, true)

    const edit = (before: Conversation): Conversation => ({
      ...before,
      details: { summary: 'Sharks' },
      updatedAt: AT + 1,
    })
    assert.equal(await store.conversations.update(OTHER_ORGANIZATION, whales.conversationId, edit), undefined)
    await store.conversations.update(ORGANIZATION, whales.conversationId, edit)
    const edited = await get(whales.conversationId)
    assert.deepEqual([edited?.details, edited?.updatedAt], [{ summary: 'Sharks' }, AT + 1])
  },

  'conversations can be sorted by last message and by last run completion': async ({ store }) => {
    const agent = await createAgent(store)
    const [one, two, three] = [
      await createConversation(store, agent),
      await createConversation(store, agent),
      await createConversation(store, agent),
    ]
    await addMessages(store, two!, 'said')
    for (const sortBy of ['last_message_at', 'last_run_completion'] as const) {
      const first = await store.conversations.search(ORGANIZATION, { sortBy }, { limit: 1, order: 'desc' })
      assert.deepEqual(idsOf(first), [two!.conversationId])
      const rest = { limit: 5, order: 'desc' as const, after: two!.conversationId }
      const next = await store.conversations.search(ORGANIZATION, { sortBy }, rest)
      assert.deepEqual(idsOf(next), [three!.conversationId, one!.conversationId])
    }
    const active = async (page: object, organization = ORGANIZATION) =>
      idsOf(
        await store.conversations.lastActive(organization, agent.agentId, { ...everything, order: 'desc', ...page }),
      )
    const byActivity = [three, two, one].map((made) => made!.conversationId)
    assert.deepEqual(await active({}), [...byActivity, agent.conversationId])
    assert.deepEqual(await active({ limit: 1, after: byActivity[0] }), [byActivity[1]])
    assert.equal(await active({ after: newId.conversation() }), undefined)
    assert.deepEqual(await active({}, OTHER_ORGANIZATION), [])
  },

  'a deleted conversation looks missing, and an active one is not deleted': async ({ store }) => {
    const agent = await createAgent(store)
    const conversation = await createConversation(store, agent)
    const remove = () => store.conversations.delete(ORGANIZATION, conversation.conversationId, AT)
    const run = await createRunningRun(store, conversation)
    assert.deepEqual(await remove(), { type: 'busy', runIds: [run.id] })
    await finish(store, run)
    const waiting = await createWaitingRun(store, await createConversation(store, agent))
    assert.equal((await store.conversations.delete(ORGANIZATION, waiting.conversationId, AT)).type, 'busy')
    await addMessages(store, conversation, 'hello')
    const [message] = await messagesIn(store, conversation)
    assert.equal(
      (await store.conversations.delete(OTHER_ORGANIZATION, conversation.conversationId, AT)).type,
      'not-found',
    )
    assert.deepEqual(await remove(), { type: 'deleted' })
    assert.deepEqual(await remove(), { type: 'not-found' })
    assert.equal(await store.conversations.get(ORGANIZATION, conversation.conversationId), undefined)
    assert.deepEqual(await store.runs.open(openRun(conversation)), { type: 'no-conversation' })
    assert.equal(await store.messages.get(ORGANIZATION, message!.id), undefined)
    assert.ok(
      !idsOf(await store.conversations.list(ORGANIZATION, agent.agentId))?.includes(conversation.conversationId),
    )
    assert.deepEqual(await store.messageSearch.search(ORGANIZATION, agent.agentId, { text: 'hello', limit: 5 }), [])
    // The run rows stay.
    assert.equal((await store.runs.get(ORGANIZATION, run.id))?.status, 'completed')
  },

  'a sweep learns the owner of a conversation and whether it was deleted': async ({ store }) => {
    const { agentId, conversationId } = await createAgent(store)
    const conversation = await createConversation(store, { agentId, conversationId })
    await store.conversations.delete(ORGANIZATION, conversation.conversationId, AT)
    const whose = { organizationId: ORGANIZATION, agentId }
    assert.deepEqual(await store.conversations.getAnywhere(conversationId), { ...whose, isDeleted: false })
    assert.deepEqual(await store.conversations.getAnywhere(conversation.conversationId), { ...whose, isDeleted: true })
    assert.equal(await store.conversations.getAnywhere(newId.conversation()), undefined)
    await store.agents.delete(ORGANIZATION, agentId)
    assert.equal(await store.conversations.getAnywhere(conversation.conversationId), undefined)
  },

  'of a concurrent send and delete, one comes first': async ({ store, another }) => {
    const { store: second } = await another()
    const agent = await createAgent(store)
    for (let round = 0; round < 10; round++) {
      const conversation = await createConversation(store, agent)
      const [opened, deleted] = await Promise.all([
        store.runs.open(openRun(conversation)),
        second.conversations.delete(ORGANIZATION, conversation.conversationId, AT),
      ])
      assert.equal(opened.type === 'opened', deleted.type === 'busy', `${opened.type} and ${deleted.type}`)
    }
  },

  'a fork copies messages under the ids of their originals, and both stay independent': async ({ store }) => {
    const agent = await createAgent(store)
    await addMessages(store, agent, 'one', 'two', 'three')
    const originals = await messagesIn(store, agent)
    const fork = await forkConversation(store, agent)
    const copies = await messagesIn(store, fork)
    const { conversationId } = fork
    assert.deepEqual(
      copies,
      originals.map((message) => ({ ...message, conversationId })),
    )
    await addMessages(store, fork, 'four')
    assert.deepEqual(sentences(await messagesIn(store, fork)), ['one', 'two', 'three', 'four'])
    assert.deepEqual(await messagesIn(store, agent), originals)
    const again = await forkConversation(store, fork, { nextPosition: 2 })
    assert.deepEqual(sentences(await messagesIn(store, again)), ['one', 'two'])
    assert.deepEqual(idsOf(await messagesIn(store, again)), idsOf(originals.slice(0, 2)))

    const { id, runId } = originals[1]!
    assert.equal((await store.messages.get(ORGANIZATION, id))?.conversationId, agent.conversationId)
    for (const place of [agent, fork, again])
      assert.equal(
        (await store.messages.get(ORGANIZATION, id, place.conversationId))?.conversationId,
        place.conversationId,
      )
    assert.equal((await store.messages.ofRun(runId)).length, 3)
    const recall = (more: object) =>
      store.messageSearch.search(ORGANIZATION, agent.agentId, { text: 'two', limit: 9, ...more })
    assert.equal((await recall({})).length, 1)
    assert.deepEqual(idsOf(await recall({ conversationId: fork.conversationId })), [id])

    const gone = { ...(await store.conversations.get(ORGANIZATION, fork.conversationId))!, id: newId.conversation() }
    assert.equal(await store.conversations.fork(newId.conversation(), gone), 'not-found')
    // More messages than exist: nothing is created.
    await assert.rejects(store.conversations.fork(agent.conversationId, { ...gone, nextPosition: 99 }))
    assert.equal(await store.conversations.get(ORGANIZATION, gone.id), undefined)
    await store.agents.delete(ORGANIZATION, agent.agentId)
    assert.deepEqual(await messagesIn(store, fork), [])
  },

  'messages of all agents are listed in order of time, from either end': async ({ store }) => {
    const [one, two] = [await createAgent(store), await createAgent(store)]
    await addMessages(store, one, 'a', 'b')
    await addMessages(store, two, 'c', 'd')
    await forkConversation(store, one)
    await addMessages(store, await createAgent(store, ORGANIZATION), 'e')
    const list = async (page: object) => store.messageSearch.list(ORGANIZATION, { ...everything, ...page })
    const all = (await list({}))!
    assert.deepEqual([...sentences(all)!].sort(), ['a', 'b', 'c', 'd', 'e'])
    assert.deepEqual(await list({ order: 'desc' }), all.toReversed())
    assert.deepEqual(await list({ after: all[1]!.id, limit: 2 }), all.slice(2, 4))
    assert.deepEqual(await list({ before: all[3]!.id, limit: 2 }), all.slice(1, 3))
    assert.deepEqual(await list({ order: 'desc', after: all[3]!.id, limit: 2 }), all.slice(1, 3).toReversed())
    assert.deepEqual(await list({ order: 'desc', before: all[1]!.id, limit: 2 }), all.slice(2, 4).toReversed())
    assert.deepEqual(sentences(await list({ conversationId: one.conversationId })), ['a', 'b'])
    assert.equal(await list({ after: newId.message() }), undefined)
    assert.equal(
      (await list({}))!.find(({ conversationId }) => conversationId === two.conversationId)?.agentId,
      two.agentId,
    )
    assert.deepEqual(await store.messageSearch.list(OTHER_ORGANIZATION, everything), [])
  },

  'the state of a conversation is read from one snapshot': async ({ store }) => {
    const agent = await createAgent(store)
    await addMessages(store, agent, 'one', 'two')
    const messages = await messagesIn(store, agent)
    const state = await store.messageSearch.conversationState(ORGANIZATION, agent.conversationId)
    assert.deepEqual(
      state?.context,
      messages.map(({ id }) => ({ id, role: 'user' })),
    )
    assert.deepEqual([state?.waiting, state?.lastRun.stopReason], [undefined, 'end_turn'])
    assert.equal(await store.messageSearch.conversationState(OTHER_ORGANIZATION, agent.conversationId), undefined)
  },
}
