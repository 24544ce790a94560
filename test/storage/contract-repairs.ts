import assert from 'node:assert/strict'
import type { Run } from '../../src/core/run.ts'
import type { ContractTests } from './contract.ts'
import {
  AT,
  asHolder,
  createAgent,
  createRunningRun,
  entry,
  fault,
  finish,
  newId,
  ORGANIZATION,
  says,
} from './fixture-storage.ts'

const row = { status: 'failed', waiting: false, deaths: 0, stopReason: 'error', completedAt: AT } as const
const error = { errorType: 'internal_error', message: 'x' } as const

const message = ({ id: runId }: Run) => {
  const body = { role: 'user' as const, content: [{ type: 'text' as const, text: 'lost' }] }
  return { id: newId.message(), runId, body, createdAt: AT }
}

export const REPAIRS: ContractTests = {
  'a run row is rewritten in every field, and its lease is released': async ({ store }) => {
    const run = await createRunningRun(store, await createAgent(store))
    await store.workers.leave(run.leaseOwner!)
    assert.equal(await store.repairs.rewriteRun(run, { row: { ...row, error, expiresAt: AT }, nextSeq: 7 }), true)
    const {
      status,
      stopReason,
      error: storedError,
      completedAt,
      expiresAt,
      nextSeq,
      leaseOwner,
    } = (await store.runs.get(ORGANIZATION, run.id))!
    assert.deepEqual([status, stopReason, storedError, completedAt], ['failed', 'error', error, AT])
    assert.deepEqual([expiresAt, nextSeq, leaseOwner], [AT, 7, undefined])
  },

  'a run row is not rewritten while a live worker holds the run, nor after the run changed': async ({ store }) => {
    const run = await createRunningRun(store, await createAgent(store))
    assert.equal(await store.repairs.rewriteRun(run, { row, nextSeq: 2 }), false)
    await store.events.append(asHolder(run, { facts: [entry(fault('one'))] }))
    await store.workers.leave(run.leaseOwner!)
    assert.equal(await store.repairs.rewriteRun(run, { row, nextSeq: 2 }), false)
    assert.equal((await store.runs.get(ORGANIZATION, run.id))?.status, 'running')
  },

  'a run row is not rewritten into a second active run of its conversation': async ({ store }) => {
    const agent = await createAgent(store)
    const first = await createRunningRun(store, agent)
    await finish(store, first)
    const second = await createRunningRun(store, agent)
    const settled = (await store.runs.get(ORGANIZATION, first.id))!
    const revived = { row: { status: 'running', waiting: false, deaths: 0 }, nextSeq: settled.nextSeq } as const
    assert.equal(await store.repairs.rewriteRun(settled, revived), false)
    await finish(store, second)
    assert.equal(await store.repairs.rewriteRun(settled, revived), true)
  },

  'the next position is raised and never lowered': async ({ store }) => {
    const { agentId, conversationId } = await createAgent(store)
    assert.equal(await store.repairs.raiseNextPosition(conversationId, 5), true)
    assert.equal(await store.repairs.raiseNextPosition(conversationId, 4), false)
    assert.equal((await store.conversations.defaultOf(ORGANIZATION, agentId))?.nextPosition, 5)
  },

  'a message is restored only at an assigned, free position': async ({ store }) => {
    const agent = await createAgent(store)
    const run = await createRunningRun(store, agent)
    await store.events.append(asHolder(run, { facts: [entry(fault('one'), says(run.id, 'one'))] }))
    const lost = message(run)
    assert.equal(await store.repairs.insertMessage(run, lost, 0), false)
    assert.equal(await store.repairs.insertMessage(run, lost, 1), false)
    await store.repairs.raiseNextPosition(agent.conversationId, 2)
    assert.equal(await store.repairs.insertMessage(run, lost, 1), true)
    const back = { ...lost, conversationId: agent.conversationId, position: 1 }
    assert.deepEqual((await store.messages.ofRun(run.id)).at(-1), back)
  },
}
