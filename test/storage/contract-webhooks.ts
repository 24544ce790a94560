import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { DAY_MS } from '../../src/core/duration.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import type { Schedule } from '../../src/core/schedule.ts'
import { deliveryState, WEBHOOK_EVENT_NAMES, type Webhook } from '../../src/core/webhook.ts'
import type { Store } from '../../src/ports/store.ts'
import type { CallbackRequest } from '../../src/ports/webhook-store.ts'
import type { ContractTests } from './contract.ts'
import {
  AT,
  asGuest,
  asHolder,
  cancelled,
  changes,
  createAgent,
  createWaitingRun,
  entry,
  fault,
  finish,
  newId,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  openRun,
  requireOpened,
} from './fixture-storage.ts'

const CALLBACK: CallbackRequest = { url: 'https://example.com/done', trust: 'public' }
const LEASE = 1_000

async function openRunning(store: Store, callback?: CallbackRequest) {
  const workerId = newId.worker()
  await store.workers.beat(workerId, 60_000)
  const run = callback ? { callback } : {}
  return requireOpened(await store.runs.open(openRun(await createAgent(store), { run, claimFor: workerId })))
}

const webhookOf = (more: Partial<Webhook> = {}): Webhook => ({
  id: `webhook-${randomUUID()}`,
  organizationId: ORGANIZATION,
  url: 'https://example.com/events',
  trust: 'public',
  name: 'events',
  events: WEBHOOK_EVENT_NAMES.filter((name) => name !== 'webhook.disabled'),
  sealed: 'sealed',
  state: 'active',
  createdBy: { actor: 'home' },
  createdAt: AT,
  ...more,
})

async function createWebhook(store: Store, more?: Partial<Webhook>): Promise<Webhook> {
  const webhook = webhookOf(more)
  assert.equal(await store.webhooks.create(webhook, 0x7fff_ffff), 'created')
  return webhook
}

export const WEBHOOKS: ContractTests = {
  'a callback becomes due when its run ends, and only if one was requested': async ({ store }) => {
    await finish(store, await openRunning(store))
    const run = await openRunning(store, CALLBACK)
    assert.deepEqual(run.callback, { url: CALLBACK.url })
    assert.equal(await store.webhooks.nextDue(), undefined)
    assert.equal(await store.webhooks.claim(AT, LEASE), undefined)
    await finish(store, run)
    assert.equal(await store.webhooks.nextDue(), AT)
    assert.equal(await store.webhooks.claim(AT - 1, LEASE), undefined)
    const { eventId, runId, webhookId, type, url, trust, tries } = (await store.webhooks.claim(AT, LEASE))!
    assert.deepEqual([eventId, runId, webhookId, type], [run.id, run.id, undefined, 'callback'])
    assert.deepEqual({ url, trust, tries }, { ...CALLBACK, tries: 1 })
  },

  'only one of several senders claims a callback until its lease expires': async ({ store, another }) => {
    const run = await openRunning(store, CALLBACK)
    await finish(store, run)
    const other = (await another()).store
    const claims = await Promise.all([store, other, store, other].map((one) => one.webhooks.claim(AT, LEASE)))
    assert.equal(claims.filter(Boolean).length, 1)
    assert.equal(await store.webhooks.nextDue(), AT + LEASE)
    assert.equal(await other.webhooks.claim(AT + LEASE - 1, LEASE), undefined)
    assert.equal((await other.webhooks.claim(AT + LEASE, LEASE))?.tries, 2)
  },

  'only the sender that holds a callback records its outcome, which ends it unless a retry is due': async ({
    store,
  }) => {
    const run = await openRunning(store, CALLBACK)
    await finish(store, run)
    const read = async () => (await store.runs.get(ORGANIZATION, run.id))?.callback
    const first = (await store.webhooks.claim(AT, LEASE))!
    const failure = { sentAt: AT + 1, statusCode: 503, error: 'busy' }
    assert.equal(await store.webhooks.record(first, { ...failure, dueAt: AT + 50 }, AT), true)
    assert.deepEqual(await read(), { url: CALLBACK.url, ...failure })
    assert.equal(await store.webhooks.nextDue(), AT + 50)

    const second = (await store.webhooks.claim(AT + 50, LEASE))!
    const third = (await store.webhooks.claim(AT + 50 + LEASE, LEASE))!
    assert.deepEqual([second.tries, third.tries], [2, 3])
    assert.equal(await store.webhooks.record(second, { error: 'too late' }, AT), false)
    assert.equal(await store.webhooks.record(third, { sentAt: AT + 60, statusCode: 200 }, AT + 60), true)
    assert.deepEqual(await read(), { url: CALLBACK.url, sentAt: AT + 60, statusCode: 200 })
    assert.equal(await store.webhooks.nextDue(), undefined)
    assert.equal(await store.webhooks.record(third, { error: 'again' }, AT), false)
  },

  'each webhook of the organization is told of each event it asked for, once, in the transaction of the event': async ({
    store,
  }) => {
    const both = await createWebhook(store)
    const ends = await createWebhook(store, { events: ['run.ended'] })
    await createWebhook(store, { organizationId: OTHER_ORGANIZATION })
    const asking = await createWaitingRun(store, await createAgent(store))
    const run = await openRunning(store)
    await finish(store, run)
    const told = async (webhook: Webhook) =>
      (await store.webhooks.deliveries(ORGANIZATION, { webhookId: webhook.id }, { limit: 10 })).map(
        ({ type, eventId, runId, agentId }) => [type, eventId, runId, agentId],
      )
    const ended = ['run.ended', `${run.id}_ended`, run.id, run.agentId]
    assert.deepEqual(await told(both), [
      ended,
      ['approval.waiting', `${asking.id}_approval`, asking.id, asking.agentId],
    ])
    assert.deepEqual(await told(ends), [ended])
    // A run that ends while it waits is over for good.
    const stop = {
      intents: [entry(cancelled, changes({ status: 'cancelled', waiting: false, stopReason: 'cancelled' }))],
    }
    await store.events.append(asGuest(asking, ['waiting'], stop))
    assert.deepEqual((await told(ends))[0], ['run.ended', `${asking.id}_ended`, asking.id, asking.agentId])
    const { deliveries } = store.webhooks
    assert.deepEqual(await deliveries(OTHER_ORGANIZATION, {}, { limit: 10 }), [])
    const [newest, next] = await deliveries(ORGANIZATION, {}, { limit: 2 })
    const [before] = await deliveries(ORGANIZATION, {}, { limit: 1, before: newest!.number })
    assert.equal(before?.number, next?.number)
    assert.equal(await store.webhooks.delivery(OTHER_ORGANIZATION, newest!.number), undefined)
  },

  'a webhook that fails rests, is disabled after days without a success, and keeps what it missed': async ({
    store,
  }) => {
    const webhook = await createWebhook(store)
    const other = await createWebhook(store, { events: ['webhook.disabled'] })
    const read = async () => (await store.webhooks.get(ORGANIZATION, webhook.id))!
    const deliver = async (at: number, error?: string) => {
      await finish(store, await openRunning(store))
      const claimed = (await store.webhooks.claim(at, LEASE))!
      assert.equal(await store.webhooks.record(claimed, error ? { error } : { statusCode: 200, sentAt: at }, at), true)
    }
    await deliver(AT, 'refused')
    assert.deepEqual([(await read()).failingSince, (await read()).restUntil], [AT, AT + 5_000])
    await finish(store, await openRunning(store))
    assert.equal(await store.webhooks.claim(AT + 4_999, LEASE), undefined)
    const probe = (await store.webhooks.claim(AT + 5_000, LEASE))!
    assert.equal(probe.webhook?.id, webhook.id)
    // Another one that is told of the same is not held back.
    await store.webhooks.record(probe, { statusCode: 200, sentAt: AT + 5_001 }, AT + 5_001)
    assert.equal((await read()).failingSince, undefined)

    await deliver(AT + DAY_MS, 'refused')
    await deliver(AT + 3 * DAY_MS, 'refused')
    assert.equal((await read()).state, 'active')
    await deliver(AT + 4 * DAY_MS, 'refused')
    assert.equal((await read()).state, 'disabled')
    assert.match(
      (await read()).stateReason ?? '',
      /^No delivery has succeeded since 2026-01-02T.* The last failure: refused$/,
    )
    const [notice, ...none] = await store.webhooks.deliveries(ORGANIZATION, { webhookId: other.id }, { limit: 10 })
    assert.deepEqual(none, [])
    assert.deepEqual([notice?.type, notice?.facts.webhook_id], ['webhook.disabled', webhook.id])

    const missed = await openRunning(store)
    await finish(store, missed)
    const [kept] = await store.webhooks.deliveries(
      ORGANIZATION,
      { webhookId: webhook.id, state: 'failed' },
      { limit: 1 },
    )
    assert.deepEqual([kept?.runId, deliveryState(kept!), kept?.tries], [missed.id, 'failed', 0])
    assert.match(kept?.error ?? '', /was disabled/)
    await store.webhooks.edit(webhook, (found) => ({ ...found, state: 'active' }))
    assert.equal((await store.webhooks.redeliver(ORGANIZATION, kept!.number, AT))?.dueAt, AT)
    assert.equal(await store.webhooks.redeliver(OTHER_ORGANIZATION, kept!.number, AT), undefined)
  },

  'receivers that are busy are passed over, and deliveries go with their webhook or their agent': async ({ store }) => {
    const webhook = await createWebhook(store)
    const run = await openRunning(store, CALLBACK)
    await finish(store, run)
    assert.equal((await store.webhooks.claim(AT, LEASE, [webhook.id]))?.type, 'callback')
    assert.equal(await store.webhooks.claim(AT, LEASE, [webhook.id]), undefined)
    assert.equal((await store.webhooks.claim(AT, LEASE))?.webhookId, webhook.id)
    assert.equal(await store.webhooks.delete({ organizationId: OTHER_ORGANIZATION, id: webhook.id }), false)
    assert.equal(await store.webhooks.delete(webhook), true)
    assert.equal((await store.webhooks.deliveries(ORGANIZATION, {}, { limit: 10 })).length, 1)
    await store.agents.delete(ORGANIZATION, run.agentId)
    assert.deepEqual(await store.webhooks.deliveries(ORGANIZATION, {}, { limit: 10 }), [])
  },

  'old deliveries are pruned once they have ended': async ({ store }) => {
    const webhook = await createWebhook(store)
    await finish(store, await openRunning(store, CALLBACK))
    const claimed = (await store.webhooks.claim(AT, LEASE))!
    await store.webhooks.record(claimed, { statusCode: 200, sentAt: AT }, AT)
    assert.equal(await store.webhooks.prune(AT, 10), 0)
    assert.equal(await store.webhooks.prune(AT + 1, 10), 1)
    const left = await store.webhooks.deliveries(ORGANIZATION, {}, { limit: 10 })
    assert.deepEqual([left.length, left[0]?.webhookId === webhook.id], [1, claimed.webhookId === undefined])
  },

  'no more webhooks than the limit, and their secrets are found for key rotation': async ({ store }) => {
    const webhook = await createWebhook(store)
    assert.equal(await store.webhooks.create(webhookOf(), 1), 'over-limit')
    assert.deepEqual(
      (await store.webhooks.list(ORGANIZATION)).map(({ id }) => id),
      [webhook.id],
    )
    const [sealed] = await store.webhooks.sealedPage(0, 10)
    assert.deepEqual(sealed?.sealed, { secret: 'sealed' })
    assert.equal(await store.webhooks.reseal(webhook.id, { secret: 'sealed' }, { secret: 'again' }), true)
    assert.equal((await store.webhooks.get(ORGANIZATION, webhook.id))?.sealed, 'again')
  },

  'a missed instant and a resting provider are told of, with what the rows say': async ({ store }) => {
    const webhook = await createWebhook(store)
    // The credentials of the server belong to its operator.
    const operator = await createWebhook(store, { organizationId: DEFAULT_ORGANIZATION })
    const agent = await createAgent(store)
    const schedule: Schedule = {
      id: `schedule-${randomUUID()}`,
      organizationId: ORGANIZATION,
      agentId: agent.agentId,
      name: 'late',
      timing: { type: 'once', at: AT },
      graceMs: 60_000,
      coalesce: true,
      inputs: [],
      onGuarded: 'deny',
      createdBy: { actor: 'home' },
      createdAt: AT,
      nextAt: AT,
      isPaused: false,
    }
    await store.schedules.create(schedule, 0)
    const missed = {
      instant: AT,
      lastInstant: AT,
      count: 1,
      outcome: 'missed' as const,
      reason: 'Late.',
      isManual: false,
    }
    const refusalOf = () => ''
    await store.schedules.settle({ schedule, seen: AT, others: [missed], firings: [], at: AT + 7, refusalOf })

    const run = await openRunning(store)
    const cooldown = {
      scope: 'credential' as const,
      key: 'credential-a' as const,
      provider: 'test',
      reason: 'rate-limited' as const,
      detail: 'slow down',
      until: AT + 60_000,
      runId: run.id,
      createdAt: AT,
    }
    const rests = [60_000, 50_000, 90_000].map(
      (ms) => ({ type: 'set-cooldown', cooldown: { ...cooldown, until: AT + ms } }) as const,
    )
    const { type } = await store.events.append(asHolder(run, { facts: [entry(fault('x'), ...rests)] }))
    assert.equal(type, 'appended')
    const factsFor = async ({ organizationId, id: webhookId }: Webhook) =>
      (await store.webhooks.deliveries(organizationId, { webhookId }, { limit: 10 })).map(
        ({ type, facts, agentId, dueAt }) => ({ type, facts, agentId, dueAt }),
      )
    assert.deepEqual(await factsFor(webhook), [
      {
        type: 'schedule.missed',
        facts: { schedule_id: schedule.id, instant_at: AT, last_instant_at: AT, count: 1, reason: 'Late.' },
        agentId: agent.agentId,
        dueAt: AT + 7,
      },
    ])
    const rested = await factsFor(operator)
    assert.deepEqual(
      rested.map(({ type, facts }) => [type, facts.until_at, facts.provider, facts.detail]),
      [
        ['provider.resting', AT + 90_000, 'test', undefined],
        ['provider.resting', AT + 60_000, 'test', undefined],
      ],
    )
  },
}
