import assert from 'node:assert/strict'
import { MAX_QUEUED_INPUTS } from '../../src/core/admission.ts'
import type { Run } from '../../src/core/run.ts'
import type { OpenRun, Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  AT,
  accepted,
  asGuest,
  asHolder,
  changes,
  claimNext,
  collect,
  createAgent,
  createRunningRun,
  createWaitingRun,
  entry,
  finish,
  newId,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  openRun,
  requireOpened,
  typesOf,
  waits,
} from './fixture-storage.ts'

export const INTAKE: ContractTests = {
  'a run is opened with its input as event 1': async ({ store }) => {
    const agent = await createAgent(store)
    const request = openRun(agent, { run: { metadata: { why: 'test' }, background: true } })
    const run = requireOpened(await store.runs.open(request))
    assert.deepEqual(run, await store.runs.get(ORGANIZATION, run.id))
    assert.equal(run.status, 'created')
    assert.deepEqual(run.metadata, { why: 'test' })
    assert.deepEqual(await store.events.read(run.id, 0), [{ seq: 1, at: AT, event: accepted }])
  },

  'a run in a free conversation is claimed in the commit that opens it': async ({ store }) => {
    const workerId = newId.worker()
    const run = requireOpened(await store.runs.open(openRun(await createAgent(store), { claimFor: workerId })))
    assert.equal(run.status, 'running')
    assert.equal(run.fence, 1)
    assert.equal(run.leaseOwner, workerId)
    assert.equal(run.startedAt, AT)
  },

  'a run behind another is not claimed by the commit that opens it': async ({ store }) => {
    const agent = await createAgent(store)
    await store.runs.open(openRun(agent))
    const second = requireOpened(await store.runs.open(openRun(agent, { claimFor: newId.worker() })))
    assert.equal(second.status, 'created')
    assert.equal(second.leaseOwner, undefined)
  },

  'a missing conversation, or one of another organization, opens nothing': async ({ store }) => {
    const agent = await createAgent(store)
    const elsewhere = { ...agent, conversationId: newId.conversation() }
    assert.deepEqual(await store.runs.open(openRun(elsewhere)), { type: 'no-conversation' })
    const foreign = openRun(agent, { run: { organizationId: OTHER_ORGANIZATION } })
    assert.deepEqual(await store.runs.open(foreign), { type: 'no-conversation' })
    const wrongAgent = openRun({ ...agent, agentId: newId.agent() })
    assert.deepEqual(await store.runs.open(wrongAgent), { type: 'no-conversation' })
  },

  'the reject policy refuses while a run is running or queued, and writes nothing': async ({ store, snapshot }) => {
    const agent = await createAgent(store)
    const running = await createRunningRun(store, agent)
    const refused = await store.runs.open(openRun(agent, { policy: 'reject' }))
    assert.deepEqual(refused, { type: 'refused', refusal: 'busy', runId: running.id })
    assert.equal((await collect(snapshot.runs())).length, 1)
  },

  'the queue policy keeps the order of arrival up to the limit, then refuses': async ({ store }) => {
    const agent = await createAgent(store)
    const running = await createRunningRun(store, agent)
    const requests: OpenRun[] = Array.from({ length: MAX_QUEUED_INPUTS }, () => openRun(agent))
    const answers = await Promise.all(requests.map((request) => store.runs.open(request)))
    for (const answer of answers) assert.equal(answer.type, 'opened')
    const oneMore = await store.runs.open(openRun(agent))
    assert.deepEqual(oneMore, { type: 'refused', refusal: 'queue-full', runId: running.id })

    await finish(store, running)
    for (const request of requests) {
      const claim = await claimNext(store)
      assert.equal(claim?.run.id, request.run.id)
      await finish(store, claim!.run)
    }
    assert.equal(await claimNext(store), undefined)
  },

  'the interrupt policy cancels the running run and opens the next': async ({ store }) => {
    const agent = await createAgent(store)
    const running = await createRunningRun(store, agent)
    const opened = await store.runs.open(openRun(agent, { policy: 'interrupt', claimFor: newId.worker() }))
    assert.equal(requireOpened(opened).status, 'created')
    assert.equal(opened.type === 'opened' && opened.interrupted, running.id)
    assert.deepEqual(typesOf(await store.events.read(running.id, 1)), ['cancel-requested'])
  },

  'the steer policy appends to the running run, and opens one if none is running': async ({ store }) => {
    const agent = await createAgent(store)
    const running = await createRunningRun(store, agent)
    const steered = await store.runs.open(openRun(agent, { policy: 'steer' }))
    assert.equal(steered.type === 'steered' && steered.runId, running.id)
    assert.deepEqual(typesOf(await store.events.read(running.id, 1)), ['input-steered'])

    await finish(store, running)
    assert.equal((await store.runs.open(openRun(agent, { policy: 'steer' }))).type, 'opened')
  },

  'every policy is refused while an approval is pending': async ({ store }) => {
    const agent = await createAgent(store)
    const waiting = await createWaitingRun(store, agent)
    for (const policy of ['reject', 'queue', 'interrupt', 'steer'] as const) {
      const refused = await store.runs.open(openRun(agent, { policy }))
      assert.deepEqual(refused, { type: 'refused', refusal: 'pending-approval', runId: waiting.id })
    }
  },

  'a retried request finds its run, and another body with its key is a conflict': async ({ store }) => {
    const agent = await createAgent(store)
    const idempotency = { key: 'k', digest: 'd' }
    const run = requireOpened(await store.runs.open(openRun(agent, { run: { idempotency } })))
    const again = await store.runs.open(openRun(agent, { run: { idempotency }, policy: 'reject' }))
    assert.deepEqual(again, { type: 'repeated', runId: run.id, request: run.id })
    const other = await store.runs.open(openRun(agent, { run: { idempotency: { key: 'k', digest: 'other' } } }))
    assert.deepEqual(other, { type: 'key-conflict', runId: run.id })
    assert.equal((await store.runs.open(openRun(await createAgent(store), { run: { idempotency } }))).type, 'opened')
  },

  'a retried request that was steered is not steered twice': async ({ store }) => {
    const agent = await createAgent(store)
    const running = await createRunningRun(store, agent)
    const request = () => openRun(agent, { policy: 'steer', run: { idempotency: { key: 'k', digest: 'd' } } })
    const first = request()
    const { id } = first.run
    assert.deepEqual(await store.runs.open(first), { type: 'steered', runId: running.id, request: id })
    await finish(store, running)
    assert.deepEqual(await store.runs.open(request()), { type: 'repeated', runId: running.id, request: id })
  },

  'the same request sent twice at once opens one run': async ({ store, another }) => {
    const elsewhere = await another()
    const agent = await createAgent(store)
    const request = () => openRun(agent, { run: { idempotency: { key: 'k', digest: 'd' } } })
    const answers = await Promise.all([
      store.runs.open(request()),
      elsewhere.store.runs.open(request()),
      store.runs.open(request()),
    ])
    assert.deepEqual(answers.map(({ type }) => type).sort(), ['opened', 'repeated', 'repeated'])
  },

  'of many concurrent opens with a claim, in two processes, one runs': async ({ store, another, snapshot }) => {
    const elsewhere = await another()
    const agent = await createAgent(store)
    const stores = [store, elsewhere.store]
    await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        stores[index % 2]!.runs.open(openRun(agent, { claimFor: newId.worker() })),
      ),
    )
    await Promise.all(stores.flatMap(({ runs }) => [runs.claimNext(newId.worker()), runs.claimNext(newId.worker())]))
    const runs = (await collect(snapshot.runs())).map(({ run }) => run)
    assert.equal(runs.length, 12)
    assert.equal(runs.filter(({ status }) => status === 'running').length, 1)
  },

  'the run that continues after an approval is opened with the answer and goes first': async ({ store }) => {
    const agent = await createAgent(store)
    const first = requireOpened(await store.runs.open(openRun(agent, { policy: 'steer' })))
    // A steer without a turn to join goes next, but not before the results of calls that are open by then.
    const urgent = requireOpened(await store.runs.open(openRun(agent, { policy: 'steer' })))
    const queued = requireOpened(await store.runs.open(openRun(agent)))
    const waiting = (await claimNext(store))!.run
    assert.equal(waiting.id, first.id)
    await stopForApproval(store, waiting)
    assert.equal(await claimNext(store), undefined)

    const fresh = (await store.runs.get(ORGANIZATION, waiting.id))!
    const { run, entry: input } = openRun(agent, { run: { continues: waiting.id } })
    const answer = asGuest(fresh, ['waiting'], { intents: [answeredBy(run.id)] })
    const continuing = await store.runs.continueAfterApproval({ answer, run, entry: input })
    assert.equal(continuing?.status, 'created')
    assert.equal(continuing?.continues, waiting.id)
    assert.equal((await store.runs.get(ORGANIZATION, waiting.id))?.waiting, false)

    const claim = await claimNext(store)
    assert.equal(claim?.run.id, run.id)
    await finish(store, claim!.run)
    for (const { id } of [urgent, queued]) {
      const next = await claimNext(store)
      assert.equal(next?.run.id, id)
      await finish(store, next!.run)
    }
  },

  'a continuing run can be claimed in the commit that answers the approval': async ({ store }) => {
    const agent = await createAgent(store)
    const waiting = await createWaitingRun(store, agent)
    const { run, entry: input } = openRun(agent, { run: { continues: waiting.id } })
    const answer = asGuest(waiting, ['waiting'], { intents: [answeredBy(run.id)] })
    const claimFor = newId.worker()
    const continuing = await store.runs.continueAfterApproval({ answer, run, entry: input, claimFor })
    assert.equal(continuing?.status, 'running')
    assert.equal(continuing?.fence, 1)
    const again = { answer: { ...answer, commitId: 'again' }, run: { ...run, id: newId.run() }, entry: input }
    assert.equal(await store.runs.continueAfterApproval(again), undefined)
    assert.equal(await store.runs.get(ORGANIZATION, again.run.id), undefined)
  },
}

const answeredBy = (continuedBy: OpenRun['run']['id']) =>
  entry(
    { type: 'approval-answered', v: 1, decisions: [], responseId: newId.message(), continuedBy },
    changes({ waiting: false, expiresAt: null }),
  )

async function stopForApproval(store: Store, run: Run): Promise<void> {
  const end = { type: 'turn-ended', v: 1, stopReason: 'requires_approval' } as const
  await store.events.append(asHolder(run, { intents: [entry(end, waits)] }))
}
