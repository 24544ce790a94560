import assert from 'node:assert/strict'
import type { ContractTests } from './contract.ts'
import {
  AT,
  asGuest,
  asHolder,
  cancelled,
  collect,
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
  requireOpened,
  says,
} from './fixture-storage.ts'

export const READS: ContractTests = {
  'an agent is read back as it was created, with its default conversation': async ({ store }) => {
    const { agentId, conversationId } = await createAgent(store)
    const agent = await store.agents.get(ORGANIZATION, agentId)
    assert.equal(agent?.name, 'keeper')
    assert.deepEqual(agent?.tools, ['note'])
    const conversation = await store.conversations.defaultOf(ORGANIZATION, agentId)
    assert.equal(conversation?.id, conversationId)
    assert.equal(conversation?.isDefault, true)
    const second = { ...conversation!, id: newId.conversation(), isDefault: false, createdAt: AT + 1 }
    await store.conversations.create(second)
    assert.deepEqual(await store.conversations.get(ORGANIZATION, second.id), second)
    assert.deepEqual(await store.conversations.list(ORGANIZATION, agentId), [second, conversation])
  },

  'ids are found by their beginning, in order': async ({ store }) => {
    const made = []
    for (let count = 0; count < 3; count++) made.push(await createAgent(store))
    const find = (kind: 'agent' | 'conv' | 'run', start: string, limit = 10) =>
      store.ids.beginningWith(ORGANIZATION, { kind, start, limit })
    const ids = made.map(({ agentId }) => agentId).sort()
    assert.deepEqual(await find('agent', 'agent-'), ids)
    assert.deepEqual(await find('agent', 'agent-', 2), ids.slice(0, 2))
    assert.deepEqual(await find('agent', ids[1]!.slice(0, 20)), [ids[1]])
    assert.deepEqual(await find('conv', made[0]!.conversationId.slice(0, 20)), [made[0]!.conversationId])
    assert.deepEqual(await find('run', 'run-0'), [])
  },

  'lists are newest first and paged': async ({ store }) => {
    const made = []
    for (let count = 0; count < 5; count++) made.unshift((await createAgent(store)).agentId)
    const first = await store.agents.list(ORGANIZATION, { limit: 2 })
    const second = await store.agents.list(ORGANIZATION, { limit: 2, before: first[1]!.id })
    const third = await store.agents.list(ORGANIZATION, { limit: 2, before: second[1]!.id })
    assert.deepEqual(
      [...first, ...second, ...third].map(({ id }) => id),
      made,
    )
    assert.deepEqual(await store.agents.list(ORGANIZATION, { limit: 2, before: newId.agent() }), [])
  },

  'runs are listed by any mix of filters, newest first': async ({ store }) => {
    const agent = await createAgent(store)
    const elsewhere = await createAgent(store)
    const done = await createRunningRun(store, agent)
    await finish(store, done)
    const running = await createRunningRun(store, agent)
    const queued = requireOpened(await store.runs.open(openRun(agent)))
    const waiting = await createWaitingRun(store, elsewhere)
    const list = async (filter: Parameters<typeof store.runs.list>[1], limit = 10, before?: string) => {
      const page = before ? { limit, before } : { limit }
      return (await store.runs.list(ORGANIZATION, filter, page)).map(({ id }) => id)
    }
    assert.deepEqual(await list({}), [waiting.id, queued.id, running.id, done.id])
    assert.deepEqual(await list({ agentId: agent.agentId }), [queued.id, running.id, done.id])
    assert.deepEqual(await list({ conversationId: agent.conversationId, statuses: ['created', 'running'] }), [
      queued.id,
      running.id,
    ])
    assert.deepEqual(await list({ waiting: true }), [waiting.id])
    assert.deepEqual(await list({ statuses: ['completed'], waiting: false }), [done.id])
    assert.deepEqual(await list({ statuses: ['completed'], waiting: true }), [waiting.id])
    assert.deepEqual(await list({ statuses: ['created', 'running'], waiting: false }), [queued.id, running.id])
    assert.deepEqual(await list({ statuses: ['created'] }), [queued.id])
    assert.deepEqual(await list({}, 2, queued.id), [running.id, done.id])
    assert.deepEqual(await list({ statuses: [] }), [])
  },

  'active runs are counted over all organizations, with the age of the oldest queued one': async ({ store }) => {
    assert.deepEqual(await store.runs.countActive(), { queued: 0, running: 0, waiting: 0 })
    const agent = await createAgent(store)
    await finish(store, await createRunningRun(store, agent))
    await createRunningRun(store, agent)
    const first = requireOpened(await store.runs.open(openRun(agent)))
    requireOpened(await store.runs.open(openRun(agent)))
    await createWaitingRun(store, await createAgent(store))
    assert.deepEqual(await store.runs.countActive(), {
      queued: 2,
      running: 1,
      waiting: 1,
      oldestQueuedAt: first.createdAt,
    })
  },

  'messages are paged by position from either end': async ({ store }) => {
    const agent = await createAgent(store)
    const run = await createRunningRun(store, agent)
    const facts = ['a', 'b', 'c', 'd', 'e'].map((text) => entry(fault(text), says(run.id, text)))
    await store.events.append(asHolder(run, { facts }))
    const page = async (options: { limit: number; after?: number; before?: number }, take: 'oldest' | 'newest') =>
      (await store.messages.list(ORGANIZATION, agent.conversationId, { ...options, take })).map(
        ({ position }) => position,
      )
    assert.deepEqual(await page({ limit: 2 }, 'oldest'), [0, 1])
    assert.deepEqual(await page({ limit: 2, after: 1 }, 'oldest'), [2, 3])
    assert.deepEqual(await page({ limit: 2 }, 'newest'), [3, 4])
    assert.deepEqual(await page({ limit: 2, before: 3 }, 'newest'), [1, 2])
    const all = await store.messages.context(agent.conversationId)
    assert.deepEqual(await store.messages.ofRun(run.id), all)
    assert.deepEqual(await store.messages.get(ORGANIZATION, all[2]!.id), all[2])
  },

  'the context begins at the last compaction': async ({ store }) => {
    const { agentId } = await createAgent(store)
    const conversation = {
      id: newId.conversation(),
      organizationId: ORGANIZATION,
      agentId,
      isDefault: false,
      createdAt: AT,
      contextStart: 2,
      nextPosition: 0,
    }
    await store.conversations.create(conversation)
    const run = await createRunningRun(store, { agentId, conversationId: conversation.id })
    const facts = ['old', 'old', 'new', 'new'].map((text) => entry(fault(text), says(run.id, text)))
    await store.events.append(asHolder(run, { facts }))
    const context = await store.messages.context(conversation.id)
    assert.deepEqual(
      context.map(({ position }) => position),
      [2, 3],
    )
  },

  'ids of another organization look missing': async ({ store }) => {
    const agent = await createAgent(store)
    const run = await createRunningRun(store, agent)
    await store.events.append(asHolder(run, { facts: [entry(fault('said'), says(run.id, 'secret'))] }))
    const [message] = await store.messages.context(agent.conversationId)
    const theirs = OTHER_ORGANIZATION
    assert.equal(await store.agents.get(theirs, agent.agentId), undefined)
    assert.deepEqual(await store.agents.search(theirs, { name: 'keeper' }, { limit: 10, order: 'asc' }), [])
    const start = agent.agentId.slice(0, 14)
    assert.deepEqual(await store.ids.beginningWith(theirs, { kind: 'agent', start, limit: 10 }), [])
    assert.deepEqual(await store.runs.usageOf(theirs, agent.conversationId), [])
    assert.deepEqual(await store.agents.list(theirs, { limit: 10 }), [])
    assert.equal(await store.conversations.get(theirs, agent.conversationId), undefined)
    assert.equal(await store.conversations.defaultOf(theirs, agent.agentId), undefined)
    assert.deepEqual(await store.conversations.list(theirs, agent.agentId), [])
    assert.equal(await store.runs.get(theirs, run.id), undefined)
    assert.deepEqual(await store.runs.list(theirs, { agentId: agent.agentId }, { limit: 10 }), [])
    assert.deepEqual(await store.runs.list(theirs, {}, { limit: 10, before: run.id }), [])
    assert.deepEqual(await store.messages.list(theirs, agent.conversationId, { limit: 10, take: 'oldest' }), [])
    assert.equal(await store.messages.get(theirs, message!.id), undefined)
  },

  'a snapshot contains every run with its events and messages, over all pages': async ({ store, snapshot }) => {
    const expected = []
    for (let count = 0; count < 60; count++) {
      const run = await createRunningRun(store, await createAgent(store))
      await store.events.append(asHolder(run, { facts: [entry(fault('said'), says(run.id, `number ${count}`))] }))
      expected.push(run.id)
    }
    const runs = await collect(snapshot.runs())
    assert.deepEqual(
      runs.map(({ run }) => run.id),
      expected,
    )
    for (const { events, messages } of runs) assert.deepEqual([events.length, messages.length], [2, 1])
    const conversations = await collect(snapshot.conversations())
    assert.equal(conversations.length, 60)
    for (const { conversation, messages } of conversations) assert.equal(messages.length, conversation.nextPosition)
  },

  'a snapshot splits a long conversation into pieces without gaps or repetitions': async ({ store, snapshot }) => {
    const run = await createRunningRun(store, await createAgent(store))
    const many = Array.from({ length: 2_300 }, (_, count) => says(run.id, `number ${count}`))
    await store.events.append(asHolder(run, { facts: [entry(fault('said'), ...many)] }))
    const pieces = await collect(snapshot.conversations())
    assert.deepEqual(
      pieces.map(({ from, isEnd, messages }) => [from, isEnd, messages.length]),
      [
        [0, false, 1_000],
        [1_000, false, 1_000],
        [2_000, true, 300],
      ],
    )
    const positions = pieces.flatMap(({ messages }) => messages.map(({ position }) => position))
    assert.deepEqual(
      positions,
      many.map((_, position) => position),
    )
  },

  'a snapshot lists the live workers': async ({ store, snapshot }) => {
    const workerId = newId.worker()
    await store.workers.beat(workerId, 60_000)
    assert.deepEqual(await snapshot.liveWorkers(), new Set([workerId]))
    await store.workers.beat(workerId, -1)
    assert.deepEqual(await snapshot.liveWorkers(), new Set())
  },

  'a write of another process is reported': async ({ store, another }) => {
    const run = await createRunningRun(store, await createAgent(store))
    const noticed = Promise.withResolvers<void>()
    const stop = store.onForeignWrite(() => noticed.resolve())
    const elsewhere = await another()
    await elsewhere.store.events.append(asGuest(run, ['running'], { facts: [entry(cancelled)] }))
    await noticed.promise
    stop()
    assert.equal((await store.runs.getAnywhere(run.id))?.nextSeq, 3)
  },

  'a closed store rejects writes with an error': async ({ store }) => {
    await store.close()
    await assert.rejects(createAgent(store), { name: 'StorageError' })
  },
}
