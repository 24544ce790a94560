import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type AuditEntry, newAuditTicket } from '../../src/core/audit.ts'
import type { OrganizationId } from '../../src/core/id.ts'
import { checkAuditChain } from '../../src/core/invariants/all.ts'
import type { ContractTests } from './contract.ts'
import { AT, createAgent, ORGANIZATION, OTHER_ORGANIZATION, type StorageFixture } from './fixture-storage.ts'

const newEntry = (verb: string, organizationId: OrganizationId = ORGANIZATION): AuditEntry => ({
  id: `audit-${randomUUID()}`,
  at: AT,
  organizationId,
  actor: 'home',
  verb,
  outcome: 'done',
})

const PAGE = { limit: 100, order: 'asc' } as const

async function chainOf({ store, snapshot }: StorageFixture, organizationId = ORGANIZATION) {
  const faults = []
  for await (const record of snapshot.auditChains()) faults.push(...checkAuditChain(record))
  assert.deepEqual(faults, [])
  const entries = (await store.audit.list(organizationId, PAGE)) ?? []
  return entries.map(({ verb, sequence }) => [verb, sequence])
}

export const AUDIT: ContractTests = {
  async 'entries of the audit log form one chain per organization, also if they arrive together'(fixture) {
    const other = await fixture.another()
    const stores = [fixture.store, other.store]
    const verbs = Array.from({ length: 20 }, (_, index) => `verb-${index}`)
    await Promise.all(
      verbs.flatMap((verb, index) =>
        [ORGANIZATION, OTHER_ORGANIZATION].map((one) => stores[index % 2]!.audit.append(newEntry(verb, one))),
      ),
    )
    for (const organization of [ORGANIZATION, OTHER_ORGANIZATION]) {
      const chain = await chainOf(fixture, organization)
      assert.deepEqual(
        chain.map(([, sequence]) => sequence),
        verbs.map((_, index) => index + 1),
      )
    }
  },

  async 'an entry that is appended twice is in the audit log once'(fixture) {
    const entry = newEntry('once')
    await fixture.store.audit.append(entry)
    await fixture.store.audit.append(entry)
    assert.deepEqual(await chainOf(fixture), [['once', 1]])
  },

  async 'an audited action and its entry are one commit; nothing changed means no entry'(fixture) {
    const { store } = fixture
    const { agentId } = await createAgent(store)
    const ticket = newAuditTicket(newEntry('agent.rename'))
    await store.audit.within(ticket, async () => {
      await store.agents.list(ORGANIZATION, PAGE)
      await store.agents.update(ORGANIZATION, agentId, { edit: (before) => ({ ...before, name: 'renamed' }) })
      await store.agents.update(ORGANIZATION, agentId, { edit: (before) => ({ ...before, system: 'changed' }) })
    })
    assert.equal(ticket.state, 'written')
    assert.deepEqual(await chainOf(fixture), [['agent.rename', 1]])

    const idle = newAuditTicket(newEntry('agent.delete'))
    const gone = `agent-${randomUUID()}` as const
    await store.audit.within(idle, () => store.agents.delete(ORGANIZATION, gone))
    assert.equal(idle.state, 'open')
    const failing = newAuditTicket(newEntry('agent.break'))
    const edit = () => {
      throw new Error('not this time')
    }
    await assert.rejects(store.audit.within(failing, () => store.agents.update(ORGANIZATION, agentId, { edit })))
    assert.equal(failing.state, 'open')
    assert.deepEqual(await chainOf(fixture), [['agent.rename', 1]])
  },

  async 'writes outside of an audited action have no entry'(fixture) {
    const { store } = fixture
    const { agentId } = await createAgent(store)
    const ticket = newAuditTicket(newEntry('nothing'))
    await Promise.all([
      store.agents.update(ORGANIZATION, agentId, { edit: (before) => ({ ...before, name: 'renamed' }) }),
      store.audit.within(ticket, async () => store.agents.get(ORGANIZATION, agentId)),
    ])
    assert.equal(ticket.state, 'open')
    assert.deepEqual(await chainOf(fixture), [])
  },
}
