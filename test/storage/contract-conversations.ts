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

async function addMessages(store: Store, home: AgentConversation, ...texts: string[]): Promise<void> {
  const run = await createRunningRun(store, home)
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
  home: AgentConversation,
  more: Partial<Conversation> = {},
): Promise<AgentConversation> {
  const source = (await store.conversations.get(ORGANIZATION, home.conversationId))!
  const fork = { ...source, id: newId.conversation(), isDefault: false, ...more }
  assert.equal(await store.conversations.fork(source.id, fork), 'forked')
  return { agentId: home.agentId, conversationId: fork.id }
}

export const CONVERSATIONS: ContractTests = {
  'a conversation keeps what it says of itself, and is found by it': async ({ store }) => {
    const home = await createAgent(store)
    const details = {
      summary: '100% "Whales"',
      description: 'about them',
      model: 'test/other' as const,
      wire: { a: [1] },
    }
    const whales = await createConversation(store, home, { details })
    const hidden = await createConversation(store, home, { details: { hidden: true } })
    const plain = await createConversation(store, home, { archivedAt: AT })
    const get = (id: Conversation['id']) => store.conversations.get(ORGANIZATION, id)
    assert.deepEqual((await get(whales.conversationId))?.details, details)
    const find = async (filter: object, page: object = {}) =>
      idsOf(await store.conversations.search(ORGANIZATION, filter, { ...everything, ...page }))
    assert.deepEqual(await find({}), [whales.conversationId])
    assert.deepEqual(await find({ archived: 'only' }), [plain.conversationId])
    assert.deepEqual(await find({ archived: 'too', agentId: home.agentId }, { order: 'desc' }), [
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

  'conversations are sorted by what happened in them last': async ({ store }) => {
    const home = await createAgent(store)
    const [one, two, three] = [
      await createConversation(store, home),
      await createConversation(store, home),
      await createConversation(store, home),
    ]
    await addMessages(store, two!, 'said')
    for (const sortBy of ['last_message_at', 'last_run_completion'] as const) {
      const first = await store.conversations.search(ORGANIZATION, { sortBy }, { limit: 1, order: 'desc' })
      assert.deepEqual(idsOf(first), [two!.conversationId])
      const rest = { limit: 5, order: 'desc' as const, after: two!.conversationId }
      const next = await store.conversations.search(ORGANIZATION, { sortBy }, rest)
      assert.deepEqual(idsOf(next), [three!.conversationId, one!.conversationId])
    }
  },

  'a deleted conversation is gone for everybody, and not while anything can happen in it': async ({ store }) => {
    const home = await createAgent(store)
    const talk = await createConversation(store, home)
    const remove = () => store.conversations.delete(ORGANIZATION, talk.conversationId, AT)
    const run = await createRunningRun(store, talk)
    assert.deepEqual(await remove(), { type: 'busy', runIds: [run.id] })
    await finish(store, run)
    const waiting = await createWaitingRun(store, await createConversation(store, home))
    assert.equal((await store.conversations.delete(ORGANIZATION, waiting.conversationId, AT)).type, 'busy')
    await addMessages(store, talk, 'hello')
    const [message] = await messagesIn(store, talk)
    assert.equal((await store.conversations.delete(OTHER_ORGANIZATION, talk.conversationId, AT)).type, 'not-found')
    assert.deepEqual(await remove(), { type: 'deleted' })
    assert.deepEqual(await remove(), { type: 'not-found' })
    assert.equal(await store.conversations.get(ORGANIZATION, talk.conversationId), undefined)
    assert.deepEqual(await store.runs.open(openRun(talk)), { type: 'no-conversation' })
    assert.equal(await store.messages.get(ORGANIZATION, message!.id), undefined)
    assert.ok(!idsOf(await store.conversations.list(ORGANIZATION, home.agentId))?.includes(talk.conversationId))
    assert.deepEqual(await store.messageSearch.search(ORGANIZATION, home.agentId, { text: 'hello', limit: 5 }), [])
    // The run stays: what happened is not forgotten.
    assert.equal((await store.runs.get(ORGANIZATION, run.id))?.status, 'completed')
  },

  'a sweep of ours learns whose a conversation is, and whether it was deleted': async ({ store }) => {
    const { agentId, conversationId } = await createAgent(store)
    const talk = await createConversation(store, { agentId, conversationId })
    await store.conversations.delete(ORGANIZATION, talk.conversationId, AT)
    const whose = { organizationId: ORGANIZATION, agentId }
    assert.deepEqual(await store.conversations.getAnywhere(conversationId), { ...whose, isDeleted: false })
    assert.deepEqual(await store.conversations.getAnywhere(talk.conversationId), { ...whose, isDeleted: true })
    assert.equal(await store.conversations.getAnywhere(newId.conversation()), undefined)
    await store.agents.delete(ORGANIZATION, agentId)
    assert.equal(await store.conversations.getAnywhere(talk.conversationId), undefined)
  },

  'of a sender and somebody who deletes, one comes first': async ({ store, another }) => {
    const { store: second } = await another()
    const home = await createAgent(store)
    for (let round = 0; round < 10; round++) {
      const talk = await createConversation(store, home)
      const [opened, deleted] = await Promise.all([
        store.runs.open(openRun(talk)),
        second.conversations.delete(ORGANIZATION, talk.conversationId, AT),
      ])
      assert.equal(opened.type === 'opened', deleted.type === 'busy', `${opened.type} and ${deleted.type}`)
    }
  },

  'a fork has copies under the ids of their originals, and neither touches the other': async ({ store }) => {
    const home = await createAgent(store)
    await addMessages(store, home, 'one', 'two', 'three')
    const originals = await messagesIn(store, home)
    const fork = await forkConversation(store, home)
    const copies = await messagesIn(store, fork)
    const { conversationId } = fork
    assert.deepEqual(
      copies,
      originals.map((message) => ({ ...message, conversationId })),
    )
    await addMessages(store, fork, 'four')
    assert.deepEqual(sentences(await messagesIn(store, fork)), ['one', 'two', 'three', 'four'])
    assert.deepEqual(await messagesIn(store, home), originals)
    const again = await forkConversation(store, fork, { nextPosition: 2 })
    assert.deepEqual(sentences(await messagesIn(store, again)), ['one', 'two'])
    assert.deepEqual(idsOf(await messagesIn(store, again)), idsOf(originals.slice(0, 2)))

    const { id, runId } = originals[1]!
    assert.equal((await store.messages.get(ORGANIZATION, id))?.conversationId, home.conversationId)
    for (const place of [home, fork, again])
      assert.equal(
        (await store.messages.get(ORGANIZATION, id, place.conversationId))?.conversationId,
        place.conversationId,
      )
    assert.equal((await store.messages.ofRun(runId)).length, 3)
    const recall = (more: object) =>
      store.messageSearch.search(ORGANIZATION, home.agentId, { text: 'two', limit: 9, ...more })
    assert.equal((await recall({})).length, 1)
    assert.deepEqual(idsOf(await recall({ conversationId: fork.conversationId })), [id])

    const gone = { ...(await store.conversations.get(ORGANIZATION, fork.conversationId))!, id: newId.conversation() }
    assert.equal(await store.conversations.fork(newId.conversation(), gone), 'not-found')
    // More than there is: nothing is made.
    await assert.rejects(store.conversations.fork(home.conversationId, { ...gone, nextPosition: 99 }))
    assert.equal(await store.conversations.get(ORGANIZATION, gone.id), undefined)
    await store.agents.delete(ORGANIZATION, home.agentId)
    assert.deepEqual(await messagesIn(store, fork), [])
  },

  'the messages of all agents are listed in the order of time, from either end': async ({ store }) => {
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

  'where a conversation stands is read at one moment': async ({ store }) => {
    const home = await createAgent(store)
    await addMessages(store, home, 'one', 'two')
    const messages = await messagesIn(store, home)
    const standing = await store.messageSearch.conversationState(ORGANIZATION, home.conversationId)
    assert.deepEqual(
      standing?.context,
      messages.map(({ id }) => ({ id, role: 'user' })),
    )
    assert.deepEqual([standing?.waiting, standing?.lastRun.stopReason], [undefined, 'end_turn'])
    assert.equal(await store.messageSearch.conversationState(OTHER_ORGANIZATION, home.conversationId), undefined)
  },
}
