import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent } from '../../src/core/agent.ts'
import { type Change, FIRST_POSITION } from '../../src/core/change.ts'
import type { OpenedStore } from '../../src/storage/store.ts'
import type { ContractTests } from './contract.ts'
import {
  AT,
  createAgent,
  newBlock,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  openRun,
  requireOpened,
} from './fixture-storage.ts'

type Store = OpenedStore['store']

async function changesAfter(store: Store, position = FIRST_POSITION): Promise<Change[]> {
  const page = await store.changes.after(position, { organizationId: ORGANIZATION, limit: 1_000 })
  assert.equal(page.type, 'changes')
  return page.type === 'changes' ? page.changes : []
}

/** On PostgreSQL other databases of the server may hold a transaction open for a moment. */
async function until(store: Store, isThere: (changes: Change[]) => boolean, position = FIRST_POSITION) {
  for (;;) {
    const changes = await changesAfter(store, position)
    if (isThere(changes)) return changes
    await sleep(5)
  }
}

const brief = ({ kind, verb }: Change) => `${kind} ${verb}`

export const CHANGES: ContractTests = {
  'what is created, changed and deleted is announced, in order, to its organization only': async ({ store }) => {
    const { agentId, conversationId } = await createAgent(store)
    await createAgent(store, OTHER_ORGANIZATION)
    const { id: runId } = requireOpened(await store.runs.open(openRun({ agentId, conversationId })))
    await store.agents.update(ORGANIZATION, agentId, { edit: (agent) => ({ ...agent, updatedAt: AT + 1 }) })
    const changes = await until(store, (found) => found.some(({ verb }) => verb === 'changed'))
    assert.deepEqual(changes.map(brief), ['agent created', 'conversation created', 'run created', 'agent changed'])
    const run = changes[2]!
    assert.deepEqual([run.id, run.agentId, run.conversationId], [runId, agentId, conversationId])
    assert.deepEqual(await changesAfter(store, changes.at(-1)!.position), [])
    assert.deepEqual((await changesAfter(store, changes[1]!.position)).map(brief), ['run created', 'agent changed'])
    await store.agents.delete(ORGANIZATION, agentId)
    await until(store, (found) => found.some((change) => brief(change) === 'agent deleted'), changes.at(-1)!.position)
  },

  'a block that is attached, detached or replaced announces its agent, to its organization only': async ({ store }) => {
    const { agentId } = await createAgent(store)
    const blocks = [newBlock('one'), newBlock('two')]
    for (const block of blocks) await store.blocks.create(block)
    let position = (await until(store, (found) => found.length === 4)).at(-1)!.position
    const announced = async () => {
      const found = await until(store, (changes) => changes.length > 0, position)
      position = found.at(-1)!.position
      for (const one of found) assert.deepEqual([brief(one), one.id, one.agentId], ['agent changed', agentId, agentId])
    }
    await store.blocks.attach(ORGANIZATION, agentId, blocks[0]!.id)
    await announced()
    await store.blocks.attach(ORGANIZATION, agentId, blocks[0]!.id)
    await store.blocks.detach(ORGANIZATION, agentId, blocks[0]!.id)
    await announced()
    const edit = (agent: Agent) => agent
    await store.agents.update(ORGANIZATION, agentId, { edit, blockIds: [blocks[1]!.id] })
    await announced()
    assert.deepEqual(await changesAfter(store, position), [])
    await createAgent(store, OTHER_ORGANIZATION)
    assert.deepEqual(await changesAfter(store, position), [])
  },

  'removed changes make an old reader reload, and a reader that is up to date does not notice': async ({ store }) => {
    await createAgent(store)
    await until(store, (found) => found.length === 2)
    const first = await store.changes.newest()
    await store.changes.prune(AT, 1_000)
    await createAgent(store)
    await until(store, (found) => found.length === 4)
    const second = await store.changes.newest()
    await store.changes.prune(AT + 500, 1_000)
    assert.equal((await changesAfter(store)).length, 4, 'nothing is older than a second')
    await store.changes.prune(AT + 1_200, 1_000)
    assert.equal((await store.changes.after(FIRST_POSITION, { limit: 10 })).type, 'gone')
    assert.equal((await changesAfter(store, first)).length, 2)
    await store.changes.prune(AT + 60_000, 1_000)
    assert.equal((await store.changes.after(first, { limit: 10 })).type, 'gone')
    assert.deepEqual(await changesAfter(store, second), [])
    assert.deepEqual(await store.changes.newest(), second)
  },

  'a reader that has seen a later copy of the database reloads': async ({ store }) => {
    await createAgent(store)
    const ahead = { transaction: 9_000_000_000_000, number: 9_000_000_000_000 }
    assert.equal((await store.changes.after(ahead, { limit: 10 })).type, 'gone')
  },
}
