import assert from 'node:assert/strict'
import type { MessageBody } from '../../src/core/message.ts'
import type { MessageSearchQuery } from '../../src/ports/message-search-store.ts'
import type { Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  type AgentConversation,
  AT,
  asHolder,
  createAgent,
  createRunningRun,
  entry,
  fault,
  finish,
  newId,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  says,
} from './fixture-storage.ts'

/** Adds a finished run with one message for each text. */
async function addMessages(
  store: Store,
  agent: AgentConversation,
  texts: readonly (string | MessageBody)[],
): Promise<void> {
  const run = await createRunningRun(store, agent)
  const facts = texts.map((said) =>
    typeof said === 'string'
      ? entry(fault('x'), says(run.id, said))
      : entry(fault('x'), {
          type: 'add-message',
          message: { id: newId.message(), runId: run.id, body: said, createdAt: AT },
        }),
  )
  await store.events.append(asHolder(run, { facts }))
  await finish(store, run)
}

const finder =
  (store: Store, agent: AgentConversation) =>
  async (text: string, more: Partial<MessageSearchQuery> = {}): Promise<number[]> =>
    (await store.messageSearch.search(ORGANIZATION, agent.agentId, { text, limit: 10, ...more })).map(
      ({ position }) => position,
    )

const untilDone = async (store: Store): Promise<void> => {
  while ((await store.messageSearch.catchUp(1_000)) === 'more');
}

/** More than a search compares for one word. */
const FREQUENT = 1_100

export const SEARCH: ContractTests = {
  'words are found anywhere in a message, better matches first, ties newest first': async ({ store }) => {
    const agent = await createAgent(store)
    await addMessages(store, agent, ['The kettle is on', 'a blue kettle', 'blue as the sea', 'nothing here', 'the sea'])
    const find = finder(store, agent)
    assert.deepEqual(await find('BLUE kettle'), [1, 2, 0])
    assert.deepEqual(await find('nothing'), [3])
    assert.deepEqual(await find('sea', { limit: 1 }), [4])
    assert.deepEqual(await find('whale'), [])
    assert.deepEqual(await find('noth'), [3], 'where no word is whole, beginnings count')
    assert.deepEqual(await find(''), [4, 3, 2, 1, 0])
    assert.deepEqual(await find('kettle', { skip: 1 }), [0])
    assert.deepEqual(await find('kettle', { to: AT - 1 }), [])
  },

  'a word that most messages have: the newest come first, a rare word counts more, and all words together count most':
    async ({ store }) => {
      const agent = await createAgent(store)
      const texts = Array.from({ length: FREQUENT }, (_, index) => `the number ${index} ${index % 2 ? 'odd' : 'even'}`)
      // Far below the newest that are compared for each of its words.
      texts[3] = 'the odd even kettle'
      await addMessages(store, agent, texts)
      await untilDone(store)
      const find = finder(store, agent)
      const newest = (count: number) => Array.from({ length: count }, (_, index) => FREQUENT - 1 - index)
      assert.deepEqual(await find('the'), newest(10))
      assert.deepEqual(await find('the', { skip: 5, limit: 3 }), newest(8).slice(5))
      assert.deepEqual((await find('the kettle', { limit: 3 })).slice(0, 2), [3, FREQUENT - 1])
      assert.deepEqual((await find('the odd even', { limit: 2 }))[0], 3)
      assert.deepEqual(await find('the', { to: AT - 1 }), [])
      assert.equal((await find('the', { limit: FREQUENT })).length, FREQUENT)
    },

  'a new message is found at once, even if nothing could be indexed': async ({ store, another }) => {
    const agent = await createAgent(store)
    const other = await another()
    await addMessages(store, agent, ['an old kettle'])
    await untilDone(store)
    await addMessages(store, agent, ['a new kettle', 'Ein neuer КЕССЕЛЬ', 'role'])
    for (const one of [store, other.store]) {
      const find = finder(one, agent)
      assert.deepEqual(await find('kettle'), [1, 0])
      assert.deepEqual(await find('кессель'), [2])
      assert.deepEqual(await find('user'), [], 'a word that only the row itself has')
    }
    await other.store.close()
  },

  'words of every script and emoji are found': async ({ store }) => {
    const agent = await createAgent(store)
    await addMessages(store, agent, [
      '我们明天去北京看长城',
      'see you 🎉 soon',
      'Crème brûlée',
      'Übermut tut selten gut',
      'сегодня дождь',
      'สวัสดีชาวโลก',
      '東京タワー',
      'हिन्दी भाषा',
    ])
    const find = finder(store, agent)
    const asked: [string, number][] = [
      ...([
        ['北京', 0],
        ['长城', 0],
        ['🎉', 1],
        ['creme', 2],
        ['brûlée', 2],
      ] as [string, number][]),
      ...([
        ['ubermut', 3],
        ['ДОЖДЬ', 4],
        ['ชาวโลก', 5],
        ['タワー', 6],
        ['हिन्दी', 7],
      ] as [string, number][]),
    ]
    for (const [text, position] of asked) assert.deepEqual(await find(text), [position], text)
    assert.deepEqual(await find('你知道我们什么时候去北京吗'), [0], 'a whole sentence is looked for by its words')
    assert.deepEqual(await find('京北'), [], 'signs of a word stand side by side')
  },

  'no query is rejected': async ({ store }) => {
    const agent = await createAgent(store)
    await addMessages(store, agent, ['the quick "brown" fox', 'and or not near', "it's 100% a_b"])
    const find = finder(store, agent)
    const odd = [
      '"',
      '""',
      "'",
      '(',
      ')*',
      'a AND',
      'NOT',
      'NEAR(',
      'AND OR NOT',
      'a:b',
      'scope:x',
      '^fox',
      'fox*',
      '-fox',
      '\0',
      'fox\0',
      '\\',
      '%',
      '_',
      '&',
      '|',
      '!',
      '<->',
      ':*',
      "fox' | 'x",
      '{content}:fox',
      '\uD83C',
      '\uFFFF',
      'x'.repeat(10_000),
      '北京长城'.repeat(2_500),
      '北'.repeat(9_000),
      '🎉'.repeat(2_000),
      'word '.repeat(3_000),
      '👩‍👩‍👧',
      '؟',
      '١٢٣',
      'ﬁ',
      'the',
      'i',
      '--',
      '/*',
      ';',
      '$1',
      '?',
    ]
    for (const text of odd) {
      await find(text)
      await store.passages.search(ORGANIZATION, agent.agentId, { text, limit: 3 })
    }
    assert.deepEqual(await find('NOT AND'), [1])
    assert.deepEqual(await find('fox\0"*'), [0])
  },

  'concurrent indexers index every message once': async ({ store, another }) => {
    const agent = await createAgent(store)
    const texts = Array.from({ length: 350 }, (_, index) => `number${index} of many`)
    await addMessages(store, agent, texts)
    const others = await Promise.all([another(), another()])
    const stores = [store, ...others.map((one) => one.store)]
    await Promise.all(stores.flatMap((one) => [untilDone(one), finder(one, agent)('many'), untilDone(one)]))
    const find = finder(store, agent)
    assert.equal((await find('many', { limit: 1_000 })).length, 350)
    for (const index of [0, 99, 100, 199, 349]) assert.deepEqual(await find(`number${index}`), [index])
    assert.equal(await store.messageSearch.catchUp(1_000), 'done')
    for (const one of others) await one.store.close()
  },

  'conversations that the index has not caught up with are counted, and none after it': async ({ store }) => {
    const [agent, other] = [await createAgent(store), await createAgent(store)]
    await untilDone(store)
    await addMessages(store, agent, ['a kettle'])
    await addMessages(store, other, ['another kettle'])
    assert.equal(await store.messageSearch.countLagging(10), 2)
    assert.equal(await store.messageSearch.countLagging(1), 1)
    await untilDone(store)
    assert.equal(await store.messageSearch.countLagging(10), 0)
  },

  'a search finds only messages in its scope, filtered by role': async ({ store }) => {
    const agent = await createAgent(store)
    const neighbor = await createAgent(store)
    await addMessages(store, agent, [
      'a kettle',
      { role: 'assistant', content: [{ type: 'reasoning', text: 'thinking of a kettle' }], calls: [] },
      { role: 'tool', outcomes: [{ callId: 'call-1', status: 'success', output: 'kettle found' } as never] },
      { role: 'approval', decisions: [] },
    ])
    await addMessages(store, neighbor, ['their kettle'])
    const find = finder(store, agent)
    assert.deepEqual((await find('kettle')).sort(), [0, 1, 2])
    assert.deepEqual(await find('kettle', { roles: ['user'] }), [0])
    assert.deepEqual(await find('kettle', { roles: ['tool'] }), [2])
    assert.deepEqual(await find('kettle', { conversationId: agent.conversationId, roles: ['assistant'] }), [1])
    assert.deepEqual(await find('kettle', { conversationId: neighbor.conversationId }), [])
    const all = await store.messageSearch.search(ORGANIZATION, undefined, { text: 'kettle', limit: 10 })
    assert.equal(all.length, 4)
    for (const agentId of [undefined, agent.agentId])
      assert.deepEqual(await store.messageSearch.search(OTHER_ORGANIZATION, agentId, { text: 'kettle', limit: 10 }), [])
  },

  'deleted messages are not found, and none of them stays indexed': async ({ store }) => {
    const agent = await createAgent(store)
    const kept = await createAgent(store)
    await addMessages(store, agent, ['a kettle'])
    await addMessages(store, kept, ['another kettle'])
    await untilDone(store)
    await store.conversations.delete(ORGANIZATION, kept.conversationId, AT)
    const everywhere = () => store.messageSearch.search(ORGANIZATION, undefined, { text: 'kettle', limit: 10 })
    assert.deepEqual(
      (await everywhere()).map(({ agentId }) => agentId),
      [agent.agentId],
    )
    await untilDone(store)
    assert.deepEqual(await finder(store, kept)('kettle'), [])
    await store.agents.delete(ORGANIZATION, agent.agentId)
    assert.deepEqual(await everywhere(), [])
    assert.equal(await store.messageSearch.catchUp(1_000), 'done')
  },
}
