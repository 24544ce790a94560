import assert from 'node:assert/strict'
import type { OpenedRun, RequestMark, Store } from '../../src/ports/store.ts'
import type { Promised } from './contract.ts'
import {
  AT,
  asHolder,
  changes,
  ended,
  entry,
  givenAgent,
  type Home,
  mustOpen,
  newId,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  openRun,
  says,
} from './given.ts'

const mark = (more: Partial<RequestMark> = {}): RequestMark => ({ digest: 'said', otids: [], isRetry: false, ...more })

const send = (store: Store, home: Home, request: RequestMark, createdAt = AT): Promise<OpenedRun> =>
  store.runs.open(openRun(home, { run: { request, createdAt } }))

/** Runs it to a failure, with or without a word of the model before. */
async function failed(store: Store, home: Home, request: RequestMark, hasAnswered: boolean) {
  const workerId = newId.worker()
  await store.workers.beat(workerId, 60_000)
  const run = mustOpen(await store.runs.open(openRun(home, { run: { request }, claimFor: workerId })))
  const fails = changes({ status: 'failed', stopReason: 'error', completedAt: AT, releaseLease: true })
  const said = hasAnswered ? [says(run.id, 'hello')] : []
  await store.events.append(asHolder(run, { intents: [entry(ended, ...said, fails)] }))
  return run
}

export const REQUESTS: Promised = {
  'an otid belongs to one run of its conversation, and other words under it are a conflict': async ({ store }) => {
    const home = await givenAgent(store)
    const { id } = mustOpen(await send(store, home, mark({ otids: ['one', 'two'] })))
    assert.deepEqual(await send(store, home, mark({ otids: ['one', 'two'] })), { type: 'repeated', runId: id })
    const conflict = { type: 'otid-conflict', runId: id }
    assert.deepEqual(await send(store, home, mark({ otids: ['three', 'two'], digest: 'other' })), conflict)
    assert.equal(await store.runs.ofOtid(ORGANIZATION, home.conversationId, 'two'), id)
    assert.equal(await store.runs.ofOtid(ORGANIZATION, home.conversationId, 'three'), undefined)
    assert.equal(await store.runs.ofOtid(OTHER_ORGANIZATION, home.conversationId, 'two'), undefined)
    mustOpen(await send(store, await givenAgent(store), mark({ otids: ['one', 'two'] })))
  },

  'copies that arrive together open one run': async ({ store, another }) => {
    const home = await givenAgent(store)
    const { store: other } = await another()
    const copies = Array.from({ length: 10 }, (_, index) =>
      send(index % 2 === 0 ? store : other, home, mark({ otids: ['one'] })),
    )
    const opened = await Promise.all(copies)
    assert.equal(opened.filter(({ type }) => type === 'opened').length, 1)
    assert.equal((await store.runs.list(ORGANIZATION, { agentId: home.agentId }, { limit: 100 })).length, 1)
  },

  'a run that failed before its first answer gives its otid up to a person, and not to a retry': async ({ store }) => {
    const home = await givenAgent(store)
    const silent = await failed(store, home, mark({ otids: ['one'] }), false)
    const retried = await send(store, home, mark({ otids: ['one'], isRetry: true }))
    assert.deepEqual(retried, { type: 'repeated', runId: silent.id })
    const anew = mustOpen(await send(store, home, mark({ otids: ['one'] })))
    assert.notEqual(anew.id, silent.id)
    assert.equal(await store.runs.ofOtid(ORGANIZATION, home.conversationId, 'one'), anew.id)

    const elsewhere = await givenAgent(store)
    const spoken = await failed(store, elsewhere, mark({ otids: ['one'] }), true)
    const repeat = await send(store, elsewhere, mark({ otids: ['one'] }))
    assert.deepEqual(repeat, { type: 'repeated', runId: spoken.id })
  },

  'a retry without an otid finds the newest run of its request while that is unanswered and young': async ({
    store,
  }) => {
    const home = await givenAgent(store)
    const request = mark({ fingerprint: 'print' })
    const retry = mark({ fingerprint: 'print', isRetry: true })
    const first = mustOpen(await send(store, home, request))
    const second = mustOpen(await send(store, home, request, AT + 1))
    assert.notEqual(first.id, second.id)
    assert.deepEqual(await send(store, home, retry, AT + 2), { type: 'repeated', runId: second.id })
    await store.runs.markAnswered(second.id)
    assert.deepEqual(await send(store, home, retry, AT + 3), { type: 'repeated', runId: first.id })
    mustOpen(await send(store, home, mark({ fingerprint: 'another', isRetry: true }), AT + 4))
    mustOpen(await send(store, home, retry, AT + 5 * 60_000))
  },

  'runs are listed in both orders, between cursors, and by what they are': async ({ store }) => {
    const home = await givenAgent(store)
    const ids: string[] = []
    for (let index = 0; index < 5; index++) {
      const run = { background: index === 2, createdAt: AT + index }
      ids.push(mustOpen(await store.runs.open(openRun(home, { run }))).id)
    }
    const list = async (page: object, filter: object = {}) =>
      (await store.runs.list(ORGANIZATION, { agentId: home.agentId, ...filter }, { limit: 10, ...page })).map(
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
