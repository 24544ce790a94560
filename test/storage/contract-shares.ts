import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { OrganizationId } from '../../src/core/id.ts'
import { checkStoredBytes } from '../../src/core/invariants/all.ts'
import type { Run } from '../../src/core/run.ts'
import type { Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  AT,
  asHolder,
  claimNext,
  createAgent,
  createRunningRun,
  entry,
  fault,
  finish,
  newId,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  openRun,
  requireOpened,
  type StorageFixture,
  says,
} from './fixture-storage.ts'

const KEY = 'key-11111111-1111-4111-8111-111111111111'
const DAY = '2026-01-01'
const NOBODY_FULL: ReadonlySet<OrganizationId> = new Set()

export const SHARES: ContractTests = {
  'stored bytes are counted with each change: what is written, made longer or shorter, and deleted, by every process':
    async (fixture) => {
      const { store } = fixture
      const elsewhere = await fixture.another()
      const { agentId } = await createAgent(store)
      await createAgent(store, OTHER_ORGANIZATION)
      const bytes = () => store.shares.storedBytes(ORGANIZATION)
      const others = await store.shares.storedBytes(OTHER_ORGANIZATION)
      const empty = await bytes()
      assert.equal(empty, 'You keep things.'.length)

      // Characters of two and four bytes.
      const text = 'né😀'.repeat(1_000)
      const passage = { organizationId: ORGANIZATION, agentId, text, tags: [], createdAt: AT }
      const id = `passage-${randomUUID()}` as const
      await elsewhere.store.passages.insert({ ...passage, id })
      assert.equal(await bytes(), empty + 7_000)
      await store.passages.insert({ ...passage, id: `passage-${randomUUID()}` })
      assert.equal(await bytes(), empty + 14_000)
      await store.passages.delete(ORGANIZATION, agentId, id)
      assert.equal(await bytes(), empty + 7_000)

      await store.agents.update(ORGANIZATION, agentId, {
        edit: (agent) => ({ ...agent, system: 'Short.' }),
        recompiles: false,
      })
      assert.equal(await bytes(), 'Short.'.length + 7_000)
      assert.equal(await store.shares.storedBytes(OTHER_ORGANIZATION), others)
      await checkStoredBytesOf(fixture)
    },

  'a turn, its messages and the deletion of everything leave the count that the rows have': async (fixture) => {
    const { store } = fixture
    const agent = await createAgent(store)
    const run = await createRunningRun(store, agent)
    await store.events.append(asHolder(run, { facts: [entry(fault('odd'), says(run.id, 'a long answer'.repeat(50)))] }))
    assert.ok((await store.shares.storedBytes(ORGANIZATION)) > 600)
    await checkStoredBytesOf(fixture)
    await finish(store, run)
    await store.agents.delete(ORGANIZATION, agent.agentId)
    assert.equal(await store.shares.storedBytes(ORGANIZATION), 0)
    await checkStoredBytesOf(fixture)
  },

  'the next slot goes to the organization with the fewest running turns, whatever the others have queued': async ({
    store,
    another,
  }) => {
    const elsewhere = await another()
    await queue(store, ORGANIZATION, 6)
    const firsts = [await claimNext(store), await claimNext(elsewhere.store)]
    assert.deepEqual(ownersOf(firsts), [ORGANIZATION, ORGANIZATION])
    await queue(store, OTHER_ORGANIZATION, 2)
    const next = [await claimNext(elsewhere.store), await claimNext(store), await claimNext(store)]
    assert.deepEqual(ownersOf(next), [OTHER_ORGANIZATION, OTHER_ORGANIZATION, ORGANIZATION])
  },

  'with one slot, organizations take turns': async ({ store }) => {
    await queue(store, ORGANIZATION, 4)
    await queue(store, OTHER_ORGANIZATION, 2)
    const workerId = newId.worker()
    await store.workers.beat(workerId, 60_000)
    const order: OrganizationId[] = []
    for (let count = 0; count < 6; count++) {
      const served = [...new Set(order.toReversed())].toReversed()
      const claim = await store.runs.claimNext(workerId, { full: NOBODY_FULL, served })
      assert.ok(claim && claim !== 'blocked')
      order.push(claim.run.organizationId)
      await finish(store, claim.run)
    }
    const [first, second] = order
    assert.notEqual(first, second)
    assert.deepEqual(order.slice(0, 4), [first, second, first, second])
    assert.deepEqual(order.slice(4), [ORGANIZATION, ORGANIZATION])
  },

  'an organization that is full is passed over, and its runs wait': async ({ store }) => {
    await queue(store, ORGANIZATION, 2)
    const [other] = await queue(store, OTHER_ORGANIZATION, 1)
    const turns = { full: new Set([ORGANIZATION]), served: [] }
    const claim = await store.runs.claimNext(newId.worker(), turns)
    assert.ok(claim && claim !== 'blocked')
    assert.equal(claim.run.id, other!.id)
    assert.equal(await store.runs.claimNext(newId.worker(), turns), 'blocked')
  },

  'an organization whose queued runs are all behind others does not hold up another one': async ({ store }) => {
    const agent = await createAgent(store)
    await createRunningRun(store, agent)
    for (let count = 0; count < 3; count++) await store.runs.open(openRun(agent))
    const [other] = await queue(store, OTHER_ORGANIZATION, 1)
    assert.equal((await claimNext(store))?.run.id, other!.id)
  },

  'the queue of an organization is bounded over all its keys, that of a key over all its agents': async ({ store }) => {
    const quota = { organization: 3, key: 2 }
    const open = async (openedBy?: typeof KEY) =>
      store.runs.open(openRun(await createAgent(store), { quota, run: openedBy ? { openedBy } : {} }))
    assert.equal((await open(KEY)).type, 'opened')
    assert.equal((await open(KEY)).type, 'opened')
    assert.deepEqual(await open(KEY), { type: 'over-quota', of: 'key', limit: 2 })
    assert.equal((await open('key-22222222-2222-4222-8222-222222222222' as typeof KEY)).type, 'opened')
    assert.deepEqual(await open('key-33333333-3333-4333-8333-333333333333' as typeof KEY), {
      type: 'over-quota',
      of: 'organization',
      limit: 3,
    })
    const counted = await store.shares.countQueued({ organizationId: ORGANIZATION, keyId: KEY })
    assert.deepEqual(counted, { organization: 3, key: 2 })
    // A run that starts at once waits in no queue.
    const agent = await createAgent(store)
    const workerId = newId.worker()
    const started = await store.runs.open(openRun(agent, { quota, claimFor: workerId, run: { openedBy: KEY } }))
    assert.equal(requireOpened(started).status, 'running')
  },

  'an amount that would pass a limit is not counted anywhere': async ({ store }) => {
    const change = (microDollars: number, limit: number) =>
      store.shares.spend({
        organizationId: ORGANIZATION,
        day: DAY,
        changes: [
          { account: KEY, microDollars, tokens: 0 },
          { account: '', microDollars, tokens: 0, limit: { microDollars: limit } },
        ],
      })
    assert.equal(await change(60, 100), 'spent')
    assert.equal(await change(60, 100), '')
    assert.equal(await change(40, 100), 'spent')
    assert.equal(await change(-30, 100), 'spent')
    assert.deepEqual(await store.shares.spentOn(ORGANIZATION, DAY), [
      { account: '', microDollars: 70, tokens: 0 },
      { account: KEY, microDollars: 70, tokens: 0 },
    ])
    assert.deepEqual(await store.shares.spentOn(OTHER_ORGANIZATION, DAY), [])
  },

  'two processes cannot both take the last of a limit': async ({ store, another }) => {
    const elsewhere = await another()
    const take = ({ shares }: Store) =>
      shares.spend({
        organizationId: ORGANIZATION,
        day: DAY,
        changes: [{ account: '', microDollars: 10, tokens: 0, limit: { microDollars: 100 } }],
      })
    const taken = await Promise.all(Array.from({ length: 30 }, (_, index) => take(index % 2 ? store : elsewhere.store)))
    assert.equal(taken.filter((one) => one === 'spent').length, 10)
  },
}

/** Each in a conversation of its own. */
async function queue(store: Store, organizationId: OrganizationId, count: number): Promise<Run[]> {
  const runs: Run[] = []
  for (let index = 0; index < count; index++) {
    const agent = await createAgent(store, organizationId)
    runs.push(requireOpened(await store.runs.open(openRun(agent, { run: { organizationId } }))))
  }
  return runs
}

const ownersOf = (claims: (Awaited<ReturnType<typeof claimNext>> | undefined)[]): (OrganizationId | undefined)[] =>
  claims.map((claim) => claim?.run.organizationId)

async function checkStoredBytesOf({ snapshot }: StorageFixture): Promise<void> {
  assert.deepEqual((await snapshot.storedBytes()).flatMap(checkStoredBytes), [])
}
