import assert from 'node:assert/strict'
import type { AuditEntry } from '../../src/core/audit.ts'
import type { Block } from '../../src/core/block.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import type { ContractTests } from './contract.ts'
import { AT, createAgent, newId, ORGANIZATION, OTHER_ORGANIZATION, openRun, requireOpened } from './fixture-storage.ts'

const AUDIT: AuditEntry = {
  id: 'audit-11111111-1111-4111-8111-111111111111',
  at: AT,
  organizationId: DEFAULT_ORGANIZATION,
  actor: 'home',
  verb: 'organization.delete',
  outcome: 'done',
}

export const ERASURE: ContractTests = {
  'a deleted agent leaves a note of what is still to be erased, until it is erased': async ({ store }) => {
    const agent = await createAgent(store)
    const run = requireOpened(await store.runs.open(openRun(agent)))
    assert.deepEqual(
      (await store.erasure.runsOf(agent.agentId, 0, 10)).map(({ id }) => id),
      [run.id],
    )
    assert.deepEqual(await store.erasure.unknownRuns([run.id]), [])
    assert.equal(await store.agents.delete(ORGANIZATION, agent.agentId), true)
    const [pending, ...more] = await store.erasure.pending(10)
    assert.deepEqual([pending?.agentId, more], [agent.agentId, []])
    assert.deepEqual(await store.erasure.unknownRuns([run.id]), [run.id])
    assert.deepEqual(await store.erasure.unknownAgents([agent.agentId]), [agent.agentId])
    for (let isLeft = await store.erasure.mergeWords('first'); isLeft; ) isLeft = await store.erasure.mergeWords('next')
    await store.erasure.emptyLog()
    await store.erasure.finished([pending!.number])
    assert.deepEqual(await store.erasure.pending(10), [])
  },

  'erasing an organization removes its rows and no others': async ({ store }) => {
    const ours = await createAgent(store)
    const theirs = await createAgent(store, OTHER_ORGANIZATION)
    await store.blocks.create(block(ORGANIZATION))
    const kept = block(OTHER_ORGANIZATION)
    await store.blocks.create(kept)
    await store.runs.open(openRun(ours))
    const rows = await store.erasure.eraseOrganization(ORGANIZATION, AUDIT)
    assert.equal(rows.agents, 1)
    assert.equal(rows.runs, 1)
    assert.equal(rows.blocks, 1)
    assert.deepEqual(await store.erasure.agentsOf(ORGANIZATION, 10), [])
    assert.deepEqual(await store.erasure.agentsOf(OTHER_ORGANIZATION, 10), [theirs.agentId])
    assert.ok(await store.blocks.get(OTHER_ORGANIZATION, kept.id))
    assert.equal(
      Object.values(await store.erasure.eraseOrganization(ORGANIZATION, { ...AUDIT, id: `${AUDIT.id}2` })).some(
        (count) => count > 0,
      ),
      false,
    )
  },
}

const block = (organizationId: typeof ORGANIZATION): Block => ({
  id: `block-${newId.run().slice(4)}`,
  organizationId,
  label: 'human',
  value: 'value',
  limit: 100,
  readOnly: false,
  tags: [],
  metadata: {},
  isTemplate: false,
  version: 1,
  createdAt: AT,
  updatedAt: AT,
})
