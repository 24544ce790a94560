import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { AuditEntry } from '../../src/core/audit.ts'
import type { Block, BlockAuthor } from '../../src/core/block.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import { checkBlockHistory } from '../../src/core/invariants/all.ts'
import type { SnapshotReader } from '../../src/ports/snapshot.ts'
import type { Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  AT,
  asHolder,
  createAgent,
  createRunningRun,
  entry,
  ORGANIZATION,
  OTHER_ORGANIZATION,
} from './fixture-storage.ts'

const ADA: BlockAuthor = { type: 'caller', by: { actor: 'home', userId: 'user-ada' } }

async function createBlock(store: Store, more: Partial<Block> = {}): Promise<Block> {
  const block: Block = {
    id: `block-${randomUUID()}`,
    organizationId: ORGANIZATION,
    label: 'human',
    value: 'v1',
    limit: 2_000_000,
    readOnly: false,
    tags: [],
    metadata: {},
    isTemplate: false,
    version: 1,
    author: ADA,
    writtenAt: AT,
    createdAt: AT,
    updatedAt: AT,
    ...more,
  }
  await store.blocks.create(block)
  return block
}

const write = (store: Store, { id, organizationId }: Block, value: string) =>
  store.blocks.update(organizationId, id, (block) => ({
    ...block,
    value,
    author: ADA,
    writtenAt: block.writtenAt! + 1,
  }))

const numbers = async (store: Store, { organizationId, id }: Block) =>
  (await store.blocks.versions(organizationId, id))?.map(({ version }) => version)

async function historyFaults(snapshot: SnapshotReader): Promise<string[]> {
  const faults: string[] = []
  for await (const record of snapshot.blockHistories())
    faults.push(...checkBlockHistory(record).map(({ detail }) => detail))
  return faults
}

export const BLOCK_VERSIONS: ContractTests = {
  'every value that a block had is kept with who wrote it and when, whoever replaces it': async ({
    store,
    snapshot,
  }) => {
    const agent = await createAgent(store)
    const block = await createBlock(store)
    await store.blocks.attach(ORGANIZATION, agent.agentId, block.id)
    await write(store, block, 'v2 ✓')
    // A change of another field is no new version.
    await store.blocks.update(ORGANIZATION, block.id, (one) => ({ ...one, description: 'who', updatedAt: AT + 9 }))
    const run = await createRunningRun(store, agent)
    const replacement = { type: 'replace-block' as const, blockId: block.id, value: 'v3', version: 2 }
    const outcome = { callId: 'a', status: 'success' as const, output: 'ok' }
    await store.events.append(
      asHolder(run, {
        facts: [
          entry(
            { type: 'tool-ended', v: 1, outcome, writes: [replacement] },
            { type: 'carry-out', write: replacement, at: AT + 5 },
          ),
        ],
      }),
    )
    const byAgent: BlockAuthor = { type: 'agent', agentId: agent.agentId, runId: run.id }
    assert.deepEqual(await store.blocks.versions(ORGANIZATION, block.id), [
      { version: 3, characters: 2, writtenAt: AT + 5, author: byAgent },
      { version: 2, characters: 4, writtenAt: AT + 1, author: ADA },
      { version: 1, characters: 2, writtenAt: AT, author: ADA },
    ])
    assert.equal((await store.blocks.replaced(ORGANIZATION, block.id, 2))?.value, 'v2 ✓')
    assert.equal(await store.blocks.replaced(ORGANIZATION, block.id, 3), undefined)
    assert.equal(await store.blocks.replaced(OTHER_ORGANIZATION, block.id, 2), undefined)
    assert.equal(await store.blocks.versions(OTHER_ORGANIZATION, block.id), undefined)
    assert.deepEqual(await historyFaults(snapshot), [])
  },

  'a change that is refused, or rolled back, leaves no version': async ({ store }) => {
    const agent = await createAgent(store)
    const block = await createBlock(store)
    await store.blocks.attach(ORGANIZATION, agent.agentId, block.id)
    const writer = { organizationId: ORGANIZATION, agentId: agent.agentId, author: ADA }
    const replace = { type: 'replace-block' as const, blockId: block.id, value: 'new', version: 1 }
    const impossible = { type: 'detach-block' as const, blockId: `block-${randomUUID()}` as const }
    assert.equal(await store.toolWrites.carryOut(writer, [replace, impossible], AT), 'stale')
    assert.equal(await store.toolWrites.carryOut(writer, [{ ...replace, version: 7 }], AT), 'stale')
    assert.deepEqual(await numbers(store, block), [1])
  },

  'the history of a block is bounded by versions and by characters, and has no gap': async ({ store, snapshot }) => {
    const many = await createBlock(store)
    for (let version = 2; version <= 130; version++) await write(store, many, `v${version}`)
    const kept = (await numbers(store, many))!
    assert.deepEqual([kept[0], kept.at(-1), kept.length], [130, 30, 101])
    const large = await createBlock(store, { value: 'a'.repeat(400_000) })
    for (const letter of 'bcde') await write(store, large, letter.repeat(400_000))
    assert.deepEqual(await numbers(store, large), [5, 4, 3])
    // A value that alone is over the bound is kept until the next one.
    await write(store, large, 'f'.repeat(1_500_000))
    await write(store, large, 'g')
    assert.deepEqual(await numbers(store, large), [7, 6])
    assert.deepEqual(await historyFaults(snapshot), [])
  },

  'the history goes with its block, its agent and its organization': async ({ store }) => {
    const agent = await createAgent(store)
    const removed = await createBlock(store)
    const made = await createBlock(store, { madeFor: agent.agentId, label: 'made' })
    const erased = await createBlock(store, { label: 'erased' })
    const others = await createBlock(store, { organizationId: OTHER_ORGANIZATION })
    const blocks = [removed, made, erased, others]
    for (const block of blocks) await write(store, block, 'changed')
    const kept = async () => {
      const found: Block[] = []
      for (const block of blocks) if (await store.blocks.replaced(block.organizationId, block.id, 1)) found.push(block)
      return found
    }
    assert.deepEqual(await kept(), blocks)
    await store.blocks.delete(ORGANIZATION, removed.id)
    assert.deepEqual(await kept(), [made, erased, others])
    await store.agents.delete(ORGANIZATION, agent.agentId)
    assert.deepEqual(await kept(), [erased, others])
    const report = await store.erasure.eraseOrganization(ORGANIZATION, AUDIT)
    assert.equal(report.block_versions, 1)
    assert.deepEqual(await kept(), [others])
  },
}

const AUDIT: AuditEntry = {
  id: 'audit-22222222-2222-4222-8222-222222222222',
  at: AT,
  organizationId: DEFAULT_ORGANIZATION,
  actor: 'home',
  verb: 'organization.delete',
  outcome: 'done',
}
