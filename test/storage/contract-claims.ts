import assert from 'node:assert/strict'
import type { ContractTests } from './contract.ts'
import {
  AT,
  asHolder,
  changes,
  claimNext,
  createAgent,
  createRunningRun,
  createWaitingRun,
  entry,
  fault,
  finish,
  newId,
  ORGANIZATION,
  openRun,
  requireOpened,
  typesOf,
} from './fixture-storage.ts'

const FREE = { quarantine: 'free' as const, quarantineFrom: 2, at: AT }
const BUSY = { ...FREE, quarantine: 'busy' as const }

export const CLAIMS: ContractTests = {
  'the oldest run that can start is claimed, with its events': async ({ store }) => {
    const first = await createAgent(store)
    const second = await createAgent(store)
    const runs = [first, first, second]
    const opened = []
    for (const agent of runs) opened.push(requireOpened(await store.runs.open(openRun(agent))))
    const workerId = newId.worker()

    const claim = await claimNext(store, workerId)
    assert.equal(claim?.run.id, opened[0]?.id)
    assert.equal(claim?.run.status, 'running')
    assert.equal(claim?.run.fence, 1)
    assert.equal(claim?.run.leaseOwner, workerId)
    assert.ok(claim?.run.startedAt)
    assert.deepEqual(typesOf(claim!.events), ['input-accepted'])
    // The second run of the first conversation is behind the running one.
    assert.equal((await claimNext(store, workerId))?.run.id, opened[2]?.id)
    assert.equal(await claimNext(store, workerId), undefined)
  },

  'a claim distinguishes an empty queue from a blocked one': async ({ store }) => {
    const workerId = newId.worker()
    assert.equal(await store.runs.claimNext(workerId), undefined)
    const agent = await createAgent(store)
    const running = await createRunningRun(store, agent)
    await store.runs.open(openRun(agent))
    assert.equal(await store.runs.claimNext(workerId), 'blocked')
    await finish(store, running)
    assert.notEqual(await store.runs.claimNext(workerId), 'blocked')
    assert.equal(await store.runs.claimNext(workerId), undefined)
  },

  'two workers never claim the same run, nor two runs of one conversation': async ({ store, another }) => {
    const elsewhere = await another()
    const agents = await Promise.all(Array.from({ length: 6 }, () => createAgent(store)))
    for (const agent of agents) for (let count = 0; count < 3; count++) await store.runs.open(openRun(agent))
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, index) => claimNext(index % 2 ? store : elsewhere.store)),
    )
    const taken = claims.flatMap((claim) => (claim ? [claim.run] : []))
    assert.equal(new Set(taken.map(({ conversationId }) => conversationId)).size, taken.length)
    for (let claim = await claimNext(store); claim; ) {
      taken.push(claim.run)
      claim = await claimNext(store)
    }
    assert.equal(taken.length, 6)
  },

  'the run of a live worker is not taken over': async ({ store }) => {
    await createRunningRun(store, await createAgent(store))
    assert.equal(await store.runs.takeOver(newId.worker(), FREE), undefined)
  },

  'the run of a dead worker is taken over, and the death is logged': async ({ store }) => {
    const workerId = newId.worker()
    const run = requireOpened(await store.runs.open(openRun(await createAgent(store), { claimFor: workerId })))
    // Its lease has expired.
    await store.workers.beat(workerId, -1)
    const survivor = newId.worker()
    const claim = await store.runs.takeOver(survivor, FREE)
    assert.equal(claim?.run.id, run.id)
    assert.equal(claim?.run.fence, 2)
    assert.equal(claim?.run.deaths, 1)
    assert.equal(claim?.run.leaseOwner, survivor)
    assert.deepEqual(claim?.events.at(-1), { seq: 2, at: AT, event: { type: 'worker-lost', v: 1, fence: 1 } })
    assert.equal(claim?.run.nextSeq, 3)
  },

  'a worker whose lease expired does not take over its own runs': async ({ store }) => {
    const workerId = newId.worker()
    const run = await createRunningRun(store, await createAgent(store), workerId)
    await store.workers.beat(workerId, -1)
    assert.equal(await store.runs.takeOver(workerId, FREE), undefined)
    assert.equal((await store.runs.takeOver(newId.worker(), FREE))?.run.id, run.id)
  },

  'the runs of a worker that left can be taken over at once': async ({ store }) => {
    const workerId = newId.worker()
    const run = await createRunningRun(store, await createAgent(store), workerId)
    await store.workers.leave(workerId)
    assert.equal((await store.runs.takeOver(newId.worker(), FREE))?.run.id, run.id)
  },

  'a run that was handed back is taken over without counting a death': async ({ store }) => {
    const run = await createRunningRun(store, await createAgent(store))
    await store.runs.handBack(run.id, run.fence)
    const claim = await store.runs.takeOver(newId.worker(), BUSY)
    assert.equal(claim?.run.fence, 2)
    assert.equal(claim?.run.deaths, 0)
    assert.deepEqual(typesOf(claim!.events), ['input-accepted'])
  },

  'a worker can list the running runs it holds': async ({ store }) => {
    const workerId = newId.worker()
    const held = await createRunningRun(store, await createAgent(store), workerId)
    const done = await createRunningRun(store, await createAgent(store), workerId)
    await createRunningRun(store, await createAgent(store), newId.worker())
    await finish(store, done)
    assert.deepEqual(
      (await store.runs.heldBy(workerId)).map(({ id, fence }) => [id, fence]),
      [[held.id, held.fence]],
    )
  },

  'a stale holder cannot hand a run back': async ({ store }) => {
    const run = await createRunningRun(store, await createAgent(store))
    await store.runs.handBack(run.id, run.fence - 1)
    assert.equal(await store.runs.takeOver(newId.worker(), FREE), undefined)
  },

  'a run that killed its workers is held back until quarantine is free': async ({ store }) => {
    const suspect = requireOpened(
      await store.runs.open(openRun(await createAgent(store), { claimFor: newId.worker() })),
    )
    assert.equal((await store.runs.takeOver(newId.worker(), BUSY))?.run.deaths, 1)
    // The next death would be its second.
    assert.equal(await store.runs.takeOver(newId.worker(), BUSY), undefined)
    const claim = await store.runs.takeOver(newId.worker(), FREE)
    assert.equal(claim?.run.id, suspect.id)
    assert.equal(claim?.run.deaths, 2)
  },

  'a committed step resets the deaths': async ({ store }) => {
    await store.runs.open(openRun(await createAgent(store), { claimFor: newId.worker() }))
    const claim = await store.runs.takeOver(newId.worker(), FREE)
    await store.events.append(asHolder(claim!.run, { facts: [entry(fault('step'), changes({ deaths: 0 }))] }))
    assert.equal((await store.runs.get(ORGANIZATION, claim!.run.id))?.deaths, 0)
  },

  'two workers never take over the same run': async ({ store, another }) => {
    const elsewhere = await another()
    const runs = []
    for (let count = 0; count < 4; count++) {
      const request = openRun(await createAgent(store), { claimFor: newId.worker() })
      runs.push(requireOpened(await store.runs.open(request)).id)
    }
    const survivor = newId.worker()
    await store.workers.beat(survivor, 60_000)
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, index) => (index % 2 ? store : elsewhere.store).runs.takeOver(survivor, FREE)),
    )
    const taken = claims.flatMap((claim) => (claim ? [claim.run.id] : []))
    assert.equal(new Set(taken).size, taken.length)
    for (const id of taken) assert.equal((await store.runs.getAnywhere(id))?.fence, 2)
  },

  'the run row limits chunk numbers, and only the holder raises the limit': async ({ store }) => {
    const run = await createRunningRun(store, await createAgent(store))
    assert.equal(run.chunkBound, 10_000)
    assert.equal(await store.runs.raiseChunkBound(run.id, run.fence), 20_000)
    assert.equal(await store.runs.raiseChunkBound(run.id, run.fence - 1), undefined)
    assert.equal((await store.runs.get(ORGANIZATION, run.id))?.chunkBound, 20_000)
  },

  'expired approvals are found, oldest first': async ({ store }) => {
    const waiting = await createWaitingRun(store, await createAgent(store))
    assert.deepEqual(await store.runs.expired(waiting.expiresAt!, 10), [])
    assert.deepEqual(await store.runs.expired(waiting.expiresAt! + 1, 10), [waiting])
  },
}
