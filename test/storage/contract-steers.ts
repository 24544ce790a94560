import assert from 'node:assert/strict'
import type { Change } from '../../src/core/projection.ts'
import type { Run } from '../../src/core/run.ts'
import type { Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  type AgentConversation,
  AT,
  accepted,
  asHolder,
  changes,
  claimNext,
  completes,
  createAgent,
  createRunningRun,
  ended,
  entry,
  finish,
  newId,
  ORGANIZATION,
  openRun,
  requireOpened,
  typesOf,
} from './fixture-storage.ts'

const settings = accepted.type === 'input-accepted' ? accepted.settings : undefined!

/** A steer that reserves a run, as the service opens it. */
function steerRequest(agent: AgentConversation, more: Parameters<typeof openRun>[1] = {}) {
  const request = openRun(agent, { policy: 'steer', ...more })
  const otherwise = { runId: request.run.id, background: false, metadata: {}, settings }
  return { ...request, steering: entry({ type: 'input-steered', v: 1, inputs: [], otherwise }) }
}

/** The end of a run that did not read the steer with this id. */
const moves = (id: Run['id']): Change => ({
  type: 'open-run',
  run: { runId: id, background: false, metadata: { from: 'steer' } },
  event: accepted,
  at: AT,
})

async function endUnread(store: Store, run: Run, steers: readonly Run['id'][]): Promise<void> {
  const { length } = await store.events.read(run.id, 0)
  await store.events.append(
    asHolder(run, { seen: length + 1, intents: [entry(ended, completes, ...steers.map(moves))] }),
  )
}

const identity = (otid: string, fingerprint: string, isRetry: boolean) => ({
  digest: 'd',
  otids: otid === '' ? [] : [otid],
  fingerprint,
  isRetry,
})

export const STEERS: ContractTests = {
  'a steer that the turn did not read gets its run in the transaction that ends the turn, ahead of the queue': async ({
    store,
  }) => {
    const agent = await createAgent(store)
    const running = await createRunningRun(store, agent)
    const steer = steerRequest(agent)
    assert.equal((await store.runs.open(steer)).type, 'steered')
    const queued = requireOpened(await store.runs.open(openRun(agent)))
    assert.equal(await store.runs.get(ORGANIZATION, steer.run.id), undefined)
    await endUnread(store, running, [steer.run.id])
    assert.deepEqual((await store.runs.get(ORGANIZATION, steer.run.id))?.metadata, { from: 'steer' })
    assert.deepEqual(typesOf(await store.events.read(steer.run.id, 0)), ['input-accepted'])
    const next = await claimNext(store)
    assert.equal(next?.run.id, steer.run.id)
    await finish(store, next.run)
    assert.equal((await claimNext(store))?.run.id, queued.id)
  },

  'a retried steer finds the run it joined, and after that the run it was moved to, by key, otid and fingerprint':
    async ({ store }) => {
      const agent = await createAgent(store)
      const running = await createRunningRun(store, agent)
      const ways = [
        (isRetry: boolean) => ({ idempotency: { key: 'k', digest: 'd' }, createdAt: isRetry ? AT + 1 : AT }),
        (isRetry: boolean) => ({ request: identity('otid-1', 'f-1', isRetry) }),
        (isRetry: boolean) => ({ request: identity('', 'f-2', isRetry) }),
      ]
      const requests = ways.map((way) => steerRequest(agent, { run: way(false) }))
      for (const request of requests)
        assert.deepEqual(await store.runs.open(request), {
          type: 'steered',
          runId: running.id,
          request: request.run.id,
        })
      const repeatAll = () => Promise.all(ways.map((way) => store.runs.open(steerRequest(agent, { run: way(true) }))))
      const ids = requests.map(({ run }) => run.id)
      assert.deepEqual(
        await repeatAll(),
        ids.map((request) => ({ type: 'repeated', runId: running.id, request })),
      )
      assert.equal(await store.runs.findByOtid(ORGANIZATION, agent.conversationId, 'otid-1'), running.id)
      await endUnread(store, running, ids)
      assert.deepEqual(
        await repeatAll(),
        ids.map((id) => ({ type: 'repeated', runId: id, request: id })),
      )
      assert.equal(await store.runs.findByOtid(ORGANIZATION, agent.conversationId, 'otid-1'), ids[1])
    },

  'an original whose retry was steered attaches to the run that the retry joined, or was moved to': async ({
    store,
  }) => {
    const agent = await createAgent(store)
    const running = await createRunningRun(store, agent)
    const retried = ['f-1', 'f-2'].map((print) =>
      steerRequest(agent, { run: { request: identity('', print, true), createdAt: AT + 500 } }),
    )
    for (const retry of retried) assert.equal((await store.runs.open(retry)).type, 'steered')
    const original = (print: string) =>
      store.runs.open(steerRequest(agent, { run: { request: identity('', print, false) } }))
    const [joined, moved] = retried.map(({ run }) => run.id) as [Run['id'], Run['id']]
    assert.deepEqual(await original('f-1'), { type: 'repeated', runId: running.id, request: joined })
    await endUnread(store, running, [joined, moved])
    assert.deepEqual(await original('f-2'), { type: 'repeated', runId: moved, request: moved })
  },

  'the response to a steer that was sent completely makes a later copy a new request': async ({ store }) => {
    const agent = await createAgent(store)
    await createRunningRun(store, agent)
    const first = steerRequest(agent, { run: { request: identity('', 'f', false) } })
    await store.runs.open(first)
    await store.runs.markAnswered(first.run.id)
    const again = await store.runs.open(steerRequest(agent, { run: { request: identity('', 'f', true) } }))
    assert.equal(again.type, 'steered')
  },

  'an interrupting run goes before those that were queued, in the order of the interrupts': async ({ store }) => {
    const agent = await createAgent(store)
    const running = await createRunningRun(store, agent)
    const queued = requireOpened(await store.runs.open(openRun(agent)))
    const first = await store.runs.open(openRun(agent, { policy: 'interrupt' }))
    assert.equal(first.type === 'opened' && first.interrupted, running.id)
    const second = requireOpened(await store.runs.open(openRun(agent, { policy: 'interrupt' })))
    await finish(store, running)
    const order: string[] = []
    for (let claim = await claimNext(store); claim; claim = await claimNext(store)) {
      order.push(claim.run.id)
      await finish(store, claim.run)
    }
    assert.deepEqual(order, [requireOpened(first).id, second.id, queued.id])
  },

  'at most 32 messages are steered into a turn between two of its answers': async ({ store }) => {
    const agent = await createAgent(store)
    const running = await createRunningRun(store, agent)
    for (let count = 0; count < 32; count++)
      assert.equal((await store.runs.open(steerRequest(agent))).type, 'steered', `steer ${count}`)
    const refused = await store.runs.open(steerRequest(agent))
    assert.deepEqual(refused, { type: 'refused', refusal: 'queue-full', runId: running.id })
  },

  'a run that only does a task is not steered': async ({ store }) => {
    const agent = await createAgent(store)
    const workerId = newId.worker()
    await store.workers.beat(workerId, 60_000)
    const task = { ...accepted, settings: { ...settings, task: 'compact' as const } } as typeof accepted
    requireOpened(await store.runs.open(openRun(agent, { entry: entry(task), claimFor: workerId })))
    assert.equal((await store.runs.open(steerRequest(agent))).type, 'opened')
  },

  'a run opens only after the run it names, whichever of two processes is first': async ({ store, another }) => {
    const elsewhere = await another()
    const agent = await createAgent(store)
    const last = await createRunningRun(store, agent)
    await finish(store, last)
    const opened = await Promise.all(
      [store, elsewhere.store].map((one) => one.runs.open(openRun(agent, { policy: 'reject', onlyAfter: last.id }))),
    )
    assert.deepEqual(opened.map(({ type }) => type).sort(), ['moved-on', 'opened'])
  },

  'a session is idle when its agent has a policy, it has a context, and nothing is active': async ({ store }) => {
    const agent = await createAgent(store)
    const found = async (since = AT) =>
      (await store.sessions.idle(agent.agentId, since, 10)).map(({ lastRun }) => lastRun)
    assert.deepEqual(await found(), [], 'nothing was said')
    const run = await createRunningRun(store, agent)
    assert.deepEqual(await found(), [], 'a run is running')
    const { length } = await store.events.read(run.id, 0)
    const said = { type: 'add-message', message: messageOf(run) } as const
    await store.events.append(asHolder(run, { seen: length + 1, intents: [entry(ended, said, completes)] }))
    assert.deepEqual(await found(AT - 1), [], 'it was active since')
    assert.deepEqual(await found(), [run.id])
    requireOpened(await store.runs.open(openRun(agent)))
    assert.deepEqual(await found(), [], 'a run is queued')
    const next = await claimNext(store)
    const end = changes({ status: 'completed', stopReason: 'requires_approval', waiting: true, releaseLease: true })
    await store.events.append(asHolder(next!.run, { intents: [entry(ended, end)] }))
    assert.deepEqual(await found(), [], 'a run waits')
    assert.deepEqual(await store.sessions.policies(0, 10), [])
    const expiry = { dailyAt: '04:00' }
    await store.agents.update(ORGANIZATION, agent.agentId, {
      edit: (before) => ({ ...before, settings: { sessionExpiry: expiry } }),
      recompiles: false,
    })
    const [policy] = await store.sessions.policies(0, 10)
    assert.deepEqual([policy?.agent.id, policy?.agent.settings], [agent.agentId, { sessionExpiry: expiry }])
  },
}

const messageOf = ({ id: runId }: Run) => ({
  id: newId.message(),
  runId,
  body: { role: 'user' as const, content: [{ type: 'text' as const, text: 'hello' }] },
  createdAt: AT,
})
