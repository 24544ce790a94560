import assert from 'node:assert/strict'
import type { OpenedRun, RequestIdentity, Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  type AgentConversation,
  AT,
  asHolder,
  changes,
  createAgent,
  ended,
  entry,
  newId,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  openRun,
  requireOpened,
  says,
} from './fixture-storage.ts'

const requestIdentity = (more: Partial<RequestIdentity> = {}): RequestIdentity => ({
  digest: 'said',
  otids: [],
  isRetry: false,
  ...more,
})

const send = (store: Store, agent: AgentConversation, request: RequestIdentity, createdAt = AT): Promise<OpenedRun> =>
  store.runs.open(openRun(agent, { run: { request, createdAt } }))

/** Runs the request until it fails, with or without an answer of the model before. */
async function failed(store: Store, agent: AgentConversation, request: RequestIdentity, hasAnswered: boolean) {
  const workerId = newId.worker()
  await store.workers.beat(workerId, 60_000)
  const run = requireOpened(await store.runs.open(openRun(agent, { run: { request }, claimFor: workerId })))
  const fails = changes({ status: 'failed', stopReason: 'error', completedAt: AT, releaseLease: true })
  const said = hasAnswered ? [says(run.id, 'hello')] : []
  await store.events.append(asHolder(run, { intents: [entry(ended, ...said, fails)] }))
  return run
}

export const REQUESTS: ContractTests = {
  'an otid belongs to one run of its conversation, and other inputs with it are a conflict': async ({ store }) => {
    const agent = await createAgent(store)
    const { id } = requireOpened(await send(store, agent, requestIdentity({ otids: ['one', 'two'] })))
    assert.deepEqual(await send(store, agent, requestIdentity({ otids: ['one', 'two'] })), {
      type: 'repeated',
      runId: id,
      request: id,
    })
    const conflict = { type: 'otid-conflict', runId: id }
    assert.deepEqual(await send(store, agent, requestIdentity({ otids: ['three', 'two'], digest: 'other' })), conflict)
    assert.equal(await store.runs.findByOtid(ORGANIZATION, agent.conversationId, 'two'), id)
    assert.equal(await store.runs.findByOtid(ORGANIZATION, agent.conversationId, 'three'), undefined)
    assert.equal(await store.runs.findByOtid(OTHER_ORGANIZATION, agent.conversationId, 'two'), undefined)
    requireOpened(await send(store, await createAgent(store), requestIdentity({ otids: ['one', 'two'] })))
  },

  'concurrent copies of a request open one run': async ({ store, another }) => {
    const agent = await createAgent(store)
    const { store: other } = await another()
    const copies = Array.from({ length: 10 }, (_, index) =>
      send(index % 2 === 0 ? store : other, agent, requestIdentity({ otids: ['one'] })),
    )
    const opened = await Promise.all(copies)
    assert.equal(opened.filter(({ type }) => type === 'opened').length, 1)
    assert.equal((await store.runs.list(ORGANIZATION, { agentId: agent.agentId }, { limit: 100 })).length, 1)
  },

  'a run that failed before its first answer releases its otid for a new request, but not for a retry': async ({
    store,
  }) => {
    const agent = await createAgent(store)
    const silent = await failed(store, agent, requestIdentity({ otids: ['one'] }), false)
    const retried = await send(store, agent, requestIdentity({ otids: ['one'], isRetry: true }))
    assert.deepEqual(retried, { type: 'repeated', runId: silent.id, request: silent.id })
    const second = requireOpened(await send(store, agent, requestIdentity({ otids: ['one'] })))
    assert.notEqual(second.id, silent.id)
    assert.equal(await store.runs.findByOtid(ORGANIZATION, agent.conversationId, 'one'), second.id)

    const elsewhere = await createAgent(store)
    const spoken = await failed(store, elsewhere, requestIdentity({ otids: ['one'] }), true)
    const repeat = await send(store, elsewhere, requestIdentity({ otids: ['one'] }))
    assert.deepEqual(repeat, { type: 'repeated', runId: spoken.id, request: spoken.id })
  },

  'a retry without an otid finds the newest unanswered run of the same request within the retry window': async ({
    store,
  }) => {
    const agent = await createAgent(store)
    const request = requestIdentity({ fingerprint: 'print' })
    const retry = requestIdentity({ fingerprint: 'print', isRetry: true })
    const first = requireOpened(await send(store, agent, request))
    const second = requireOpened(await send(store, agent, request, AT + 1))
    assert.notEqual(first.id, second.id)
    assert.deepEqual(await send(store, agent, retry, AT + 2), {
      type: 'repeated',
      runId: second.id,
      request: second.id,
    })
    await store.runs.markAnswered(second.id)
    assert.deepEqual(await send(store, agent, retry, AT + 3), { type: 'repeated', runId: first.id, request: first.id })
    requireOpened(await send(store, agent, requestIdentity({ fingerprint: 'another', isRetry: true }), AT + 4))
    requireOpened(await send(store, agent, retry, AT + 5 * 60_000))
  },

  'an original that waited while its retry opened the run attaches to that run, once; a later equal message is new':
    async ({ store, another }) => {
      const agent = await createAgent(store)
      const { store: other } = await another()
      const original = requestIdentity({ fingerprint: 'print' })
      const retry = requestIdentity({ fingerprint: 'print', isRetry: true })
      const opened = requireOpened(await send(store, agent, retry, AT + 500))
      const later = requireOpened(await send(store, agent, original, AT + 501))
      assert.notEqual(later.id, opened.id)
      requireOpened(await send(store, agent, requestIdentity({ fingerprint: 'another' }), AT))
      requireOpened(await send(store, await createAgent(store), original, AT))
      const { id } = opened
      assert.deepEqual(await send(other, agent, original, AT), { type: 'repeated', runId: id, request: id })
      requireOpened(await send(store, agent, original, AT + 1))
    },

  'of two equal messages that wait at the same time both are accepted': async ({ store }) => {
    const agent = await createAgent(store)
    const message = requestIdentity({ fingerprint: 'print' })
    requireOpened(await send(store, agent, message, AT + 1))
    requireOpened(await send(store, agent, message, AT))
  },

  'runs are listed in both orders, between cursors, and by filters': async ({ store }) => {
    const agent = await createAgent(store)
    const ids: string[] = []
    for (let index = 0; index < 5; index++) {
      const run = { background: index === 2, createdAt: AT + index }
      ids.push(requireOpened(await store.runs.open(openRun(agent, { run }))).id)
    }
    const list = async (page: object, filter: object = {}) =>
      (await store.runs.list(ORGANIZATION, { agentId: agent.agentId, ...filter }, { limit: 10, ...page })).map(
        ({ id }) => id,
      )
    assert.deepEqual(await list({}), ids.toReversed())
    assert.deepEqual(await list({ order: 'oldest-first' }), ids)
    assert.deepEqual(await list({ order: 'oldest-first', after: ids[1], limit: 2 }), [ids[2], ids[3]])
    assert.deepEqual(await list({ before: ids[3], after: ids[0] }), [ids[2], ids[1]])
    assert.deepEqual(await list({}, { background: true }), [ids[2]])
    assert.deepEqual(await list({}, { stopReason: 'end_turn' }), [])
    assert.deepEqual(await list({ before: newId.run() }), [])
  },
}
