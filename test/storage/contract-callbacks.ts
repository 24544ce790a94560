import assert from 'node:assert/strict'
import type { CallbackRequest } from '../../src/ports/callback-store.ts'
import type { Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import { AT, createAgent, finish, newId, ORGANIZATION, openRun, requireOpened } from './fixture-storage.ts'

const CALLBACK: CallbackRequest = { url: 'https://example.com/done', trust: 'public' }
const LEASE = 1_000

async function openRunning(store: Store, callback?: CallbackRequest) {
  const workerId = newId.worker()
  await store.workers.beat(workerId, 60_000)
  const run = callback ? { callback } : {}
  return requireOpened(await store.runs.open(openRun(await createAgent(store), { run, claimFor: workerId })))
}

export const CALLBACKS: ContractTests = {
  'a callback becomes due when its run ends, and only if one was requested': async ({ store }) => {
    await finish(store, await openRunning(store))
    const run = await openRunning(store, CALLBACK)
    assert.deepEqual(run.callback, { url: CALLBACK.url })
    assert.equal(await store.callbacks.nextDue(), undefined)
    assert.equal(await store.callbacks.claim(AT, LEASE), undefined)
    await finish(store, run)
    assert.equal(await store.callbacks.nextDue(), AT)
    assert.equal(await store.callbacks.claim(AT - 1, LEASE), undefined)
    const { run: over, ...rest } = (await store.callbacks.claim(AT, LEASE))!
    assert.deepEqual([over.id, over.status, rest], [run.id, 'completed', { ...CALLBACK, tries: 1 }])
  },

  'only one of several senders claims a callback until its lease expires': async ({ store, another }) => {
    const run = await openRunning(store, CALLBACK)
    await finish(store, run)
    const other = (await another()).store
    const claims = await Promise.all([store, other, store, other].map((one) => one.callbacks.claim(AT, LEASE)))
    assert.equal(claims.filter(Boolean).length, 1)
    assert.equal(await store.callbacks.nextDue(), AT + LEASE)
    assert.equal(await other.callbacks.claim(AT + LEASE - 1, LEASE), undefined)
    assert.equal((await other.callbacks.claim(AT + LEASE, LEASE))?.tries, 2)
  },

  'only the sender that holds a callback records its outcome, which ends it unless a retry is due': async ({
    store,
  }) => {
    const run = await openRunning(store, CALLBACK)
    await finish(store, run)
    const read = async () => (await store.runs.get(ORGANIZATION, run.id))?.callback
    await store.callbacks.claim(AT, LEASE)
    const failure = { sentAt: AT + 1, statusCode: 503, error: 'busy' }
    assert.equal(await store.callbacks.record(run.id, 1, { ...failure, dueAt: AT + 50 }), true)
    assert.deepEqual(await read(), { url: CALLBACK.url, ...failure })
    assert.equal(await store.callbacks.nextDue(), AT + 50)

    await store.callbacks.claim(AT + 50, LEASE)
    await store.callbacks.claim(AT + 50 + LEASE, LEASE)
    assert.equal(await store.callbacks.record(run.id, 2, { error: 'too late' }), false)
    assert.equal(await store.callbacks.record(run.id, 3, { sentAt: AT + 60, statusCode: 200 }), true)
    assert.deepEqual(await read(), { url: CALLBACK.url, sentAt: AT + 60, statusCode: 200 })
    assert.equal(await store.callbacks.nextDue(), undefined)
    assert.equal(await store.callbacks.record(run.id, 3, { error: 'again' }), false)
  },
}
