import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Hook } from '../../src/core/hook.ts'
import type { ReceivedDelivery } from '../../src/ports/hook-store.ts'
import type { ContractTests } from './contract.ts'
import {
  type AgentConversation,
  AT,
  createAgent,
  createWaitingRun,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  openRun,
} from './fixture-storage.ts'

const hookOf = ({ agentId }: AgentConversation, more: Partial<Hook> = {}): Hook => ({
  id: `hook-${randomUUID()}`,
  organizationId: ORGANIZATION,
  agentId,
  name: 'issues',
  scheme: 'github',
  signatureHeader: 'x-signature',
  sealed: 'sealed',
  template: '{{body.title}}',
  perMinute: 60,
  onGuarded: 'deny',
  isPaused: false,
  createdBy: { actor: 'home' },
  createdAt: AT,
  ...more,
})

const received = (hook: Hook, agent: AgentConversation, key = 'one'): ReceivedDelivery => ({
  hook,
  delivery: { deliveryId: `id of ${key}`, event: 'issues', bytes: 10, receivedAt: AT },
  key,
  open: openRun(agent),
  refusalOf: ({ type }) => `it was ${type}`,
})

export const HOOKS: ContractTests = {
  'a delivery becomes one run at one of several servers, and its log says so': async ({ store, another }) => {
    const agent = await createAgent(store)
    const hook = hookOf(agent)
    assert.equal(await store.hooks.create(hook, 10), 'created')
    const other = (await another()).store
    const results = await Promise.all(
      [store, other, store, other].map((one) => one.hooks.receive(received(hook, agent))),
    )
    assert.deepEqual(results.map(({ type }) => type).sort(), ['accepted', 'repeated', 'repeated', 'repeated'])
    const runs = await store.runs.list(ORGANIZATION, { agentId: agent.agentId }, { limit: 10 })
    assert.equal(runs.length, 1)
    assert.deepEqual(
      results.map((one) => 'runId' in one && one.runId),
      Array(4).fill(runs[0]?.id),
    )
    const [entry, ...none] = await store.hooks.deliveries(ORGANIZATION, hook.id, { limit: 10 })
    assert.deepEqual(none, [])
    assert.deepEqual([entry?.outcome, entry?.runId, entry?.repeats], ['accepted', runs[0]?.id, 3])
    assert.equal((await store.hooks.receive(received(hook, agent, 'two'))).type, 'accepted')
    assert.deepEqual(await store.hooks.deliveries(OTHER_ORGANIZATION, hook.id, { limit: 10 }), [])
  },

  'a delivery whose run is refused is in the log with the reason, and may come again': async ({ store }) => {
    const agent = await createAgent(store)
    const hook = hookOf(agent)
    await store.hooks.create(hook, 10)
    await createWaitingRun(store, agent)
    assert.equal((await store.hooks.receive(received(hook, agent))).type, 'refused')
    assert.equal((await store.hooks.receive(received(hook, agent))).type, 'refused')
    const log = await store.hooks.deliveries(ORGANIZATION, hook.id, { limit: 10 })
    assert.deepEqual(
      log.map(({ outcome, reason, runId }) => [outcome, reason, runId]),
      Array(2).fill(['refused', 'it was refused', undefined]),
    )
    const [newest] = log
    const before = await store.hooks.deliveries(ORGANIZATION, hook.id, { limit: 10, before: newest!.number })
    assert.equal(before.length, 1)
    assert.equal(await store.hooks.prune(AT, 10), 0)
    assert.equal(await store.hooks.prune(AT + 1, 10), 2)
  },

  'hooks go with their agent, and a deleted one takes nothing': async ({ store }) => {
    const agent = await createAgent(store)
    const hook = hookOf(agent)
    assert.equal(await store.hooks.create(hook, 1), 'created')
    assert.equal(await store.hooks.create(hookOf(agent), 1), 'over-limit')
    assert.equal(await store.hooks.create(hookOf({ ...agent, agentId: `agent-${randomUUID()}` }), 10), 'no-agent')
    assert.deepEqual(await store.hooks.find(hook.id), hook)
    assert.equal(await store.hooks.get(OTHER_ORGANIZATION, hook.id), undefined)
    assert.equal((await store.hooks.edit(hook, (one) => ({ ...one, isPaused: true })))?.isPaused, true)
    const [sealed] = await store.hooks.sealedPage(0, 10)
    assert.deepEqual(sealed?.sealed, { secret: 'sealed' })
    await store.hooks.receive(received(hook, agent))
    await store.agents.delete(ORGANIZATION, agent.agentId)
    assert.deepEqual(await store.hooks.list(ORGANIZATION), [])
    assert.deepEqual(await store.hooks.deliveries(ORGANIZATION, hook.id, { limit: 10 }), [])
    assert.equal((await store.hooks.receive(received(hook, agent))).type, 'gone')
    const kept = hookOf(await createAgent(store))
    await store.hooks.create(kept, 10)
    assert.equal(await store.hooks.delete({ organizationId: OTHER_ORGANIZATION, id: kept.id }), false)
    assert.equal(await store.hooks.delete(kept), true)
    assert.equal(await store.hooks.find(kept.id), undefined)
  },
}
