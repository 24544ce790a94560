import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Conversation } from '../../src/core/agent.ts'
import { defined } from '../../src/core/defined.ts'
import type { AgentId, ConversationId, MessageId, OrganizationId } from '../../src/core/id.ts'
import { type ImportObject, type ImportRecord, newProgress } from '../../src/core/import.ts'
import { NO_RUN } from '../../src/core/message.ts'
import type { ImportLease, PlacedMessage, Placement } from '../../src/ports/import-store.ts'
import type { Store } from '../../src/ports/store.ts'
import type { ContractTests } from './contract.ts'
import {
  AT,
  collect,
  createAgent,
  createRunningRun,
  newId,
  ORGANIZATION,
  OTHER_ORGANIZATION,
} from './fixture-storage.ts'

const PROGRESS = newProgress('Reading')

function recordOf(url = 'http://old', organizationId: OrganizationId = ORGANIZATION): ImportRecord {
  return {
    id: `import-${randomUUID()}`,
    organizationId,
    origin: { type: 'server', url },
    options: {},
    state: 'running',
    progress: newProgress('Waiting'),
    passes: 1,
    createdAt: AT,
    startedAt: AT,
    updatedAt: AT,
  }
}

async function claimed(store: Store): Promise<ImportLease> {
  const worker = newId.worker()
  await store.workers.beat(worker, 60_000)
  const lease = await store.imports.claim(worker)
  assert.ok(lease)
  return lease
}

async function startedImport(store: Store): Promise<ImportLease> {
  await store.imports.open(recordOf(), undefined)
  return claimed(store)
}

const row = (kind: ImportObject['kind'], sourceId: string, more: Partial<ImportObject> = {}): ImportObject => ({
  kind,
  sourceId,
  parent: '',
  outcome: 'imported',
  targetId: sourceId,
  ...more,
})

type Placed = { agentId: AgentId; conversationId: ConversationId }

/** An agent with its conversation, as an import places them. */
async function placeAgent(store: Store, lease: ImportLease): Promise<Placed> {
  const agentId = newId.agent()
  const conversationId = newId.conversation()
  const conversation: Conversation = {
    id: conversationId,
    organizationId: ORGANIZATION,
    agentId,
    isDefault: true,
    createdAt: AT,
    contextStart: 0,
    nextPosition: 0,
  }
  const agent = {
    id: agentId,
    organizationId: ORGANIZATION,
    name: 'moved',
    system: '',
    model: 'test/model' as const,
    fallback: [],
    tools: [],
    createdAt: AT,
    updatedAt: AT,
  }
  const placement: Placement = {
    type: 'agent',
    agent,
    conversation,
    blockIds: [],
    tags: ['tea'],
    objects: [row('agent', agentId), row('conversation', conversationId, { ownerId: agentId })],
  }
  assert.equal(await store.imports.place(lease, placement, PROGRESS), true)
  return { agentId, conversationId }
}

const message = (text: string, more: Partial<PlacedMessage> = {}): PlacedMessage => ({
  id: newId.message(),
  runId: NO_RUN,
  createdAt: AT,
  body: { role: 'user', content: [{ type: 'text', text }] },
  ...more,
})

function messagesPlacement({ agentId, conversationId: id }: Placed, messages: PlacedMessage[], to?: string): Placement {
  return {
    type: 'messages',
    conversation: { id, organizationId: ORGANIZATION, agentId },
    messages,
    objects: messages.map((one) => row('message', one.id, { parent: id, ownerId: agentId })),
    ...defined({ cursor: to ? { conversation: id, to } : undefined }),
  }
}

const listed = (store: Store, { conversationId }: Placed) =>
  store.messages.list(ORGANIZATION, conversationId, { limit: 1_000, take: 'oldest' })

const stateOf = async (store: Store, lease: ImportLease, object: ImportObject) =>
  (await store.imports.known(lease, object.kind, [object.sourceId], object.parent)).get(object.sourceId)

export const IMPORTS: ContractTests = {
  'an origin has one import: while it runs it stays as it is, afterwards it goes on under the same id': async ({
    store,
  }) => {
    const first = await store.imports.open(recordOf(), 'sealed')
    const second = await store.imports.open({ ...recordOf(), options: { rate: 5 } }, undefined)
    assert.deepEqual(second, first)
    const lease = await claimed(store)
    assert.equal(lease.sealedKey, 'sealed')
    await store.imports.finish(lease, { state: 'failed', failure: 'It does not answer.', progress: PROGRESS })
    const failed = await store.imports.get(ORGANIZATION, first.id)
    assert.deepEqual([failed?.state, failed?.failure], ['failed', 'It does not answer.'])
    const again = await store.imports.open({ ...recordOf(), options: { rate: 5 }, startedAt: AT + 9 }, undefined)
    assert.deepEqual(
      [again.id, again.state, again.passes, again.options, again.startedAt, again.failure],
      [first.id, 'running', 2, { rate: 5 }, AT + 9, undefined],
    )
    assert.deepEqual(await store.imports.get(ORGANIZATION, first.id), again)
    // The key of the first pass is gone with its end.
    assert.equal((await claimed(store)).sealedKey, undefined)
  },

  'imports of another organization are not seen, and have their own rows': async ({ store }) => {
    const own = await store.imports.open(recordOf(), undefined)
    const other = await store.imports.open(recordOf('http://old', OTHER_ORGANIZATION), undefined)
    assert.notEqual(other.id, own.id)
    assert.deepEqual(
      (await store.imports.list(ORGANIZATION)).map(({ id }) => id),
      [own.id],
    )
    assert.equal(await store.imports.get(ORGANIZATION, other.id), undefined)
    assert.equal(await store.imports.stop(ORGANIZATION, other.id, AT), undefined)
    assert.deepEqual(await store.imports.counts(ORGANIZATION, other.id), [])
  },

  'one of several workers carries an import out, and another one only after its death; the fence grows': async ({
    store,
    another,
  }) => {
    await store.imports.open(recordOf(), undefined)
    const other = (await another()).store
    const [one, two] = [newId.worker(), newId.worker()]
    await store.workers.beat(one, 60_000)
    await other.workers.beat(two, 60_000)
    const leases = await Promise.all([store.imports.claim(one), other.imports.claim(two)])
    const [held] = leases.filter((lease) => lease !== undefined)
    assert.equal(leases.filter((lease) => lease !== undefined).length, 1)
    const holder = leases[0] ? one : two
    await store.workers.leave(holder)
    const next = await other.imports.claim(holder === one ? two : one)
    assert.equal(next?.fence, held!.fence + 1)
    const object = row('tool', 'tool-1', { outcome: 'left-out', reason: 'Test.' })
    assert.equal(await store.imports.place(held!, { type: 'objects', objects: [object] }, PROGRESS), false)
    assert.equal(await store.imports.note(held!, PROGRESS), false)
    await store.imports.finish(held!, { state: 'done', progress: PROGRESS })
    assert.equal((await store.imports.get(ORGANIZATION, next!.record.id))?.state, 'running')
    assert.equal(await store.imports.note(next!, { ...PROGRESS, stage: 'Going on' }), true)
    assert.equal((await store.imports.get(ORGANIZATION, next!.record.id))?.progress.stage, 'Going on')
    assert.deepEqual(await store.imports.counts(ORGANIZATION, next!.record.id), [])
  },

  'a stopped import takes the lease away and is not claimed again': async ({ store }) => {
    const lease = await startedImport(store)
    const stopped = await store.imports.stop(ORGANIZATION, lease.record.id, AT + 5)
    assert.deepEqual([stopped?.state, stopped?.finishedAt], ['stopped', AT + 5])
    assert.equal(await store.imports.note(lease, PROGRESS), false)
    const worker = newId.worker()
    await store.workers.beat(worker, 60_000)
    assert.equal(await store.imports.claim(worker), undefined)
    await store.imports.finish(lease, { state: 'done', progress: PROGRESS })
    assert.equal((await store.imports.stop(ORGANIZATION, lease.record.id, AT + 9))?.finishedAt, AT + 5)
  },

  'an object and the row that says so are one commit: if one fails, neither is there': async ({ store }) => {
    const lease = await startedImport(store)
    const placed = await placeAgent(store, lease)
    const taken = message('one')
    await store.imports.place(lease, messagesPlacement(placed, [taken]), PROGRESS)
    const fresh = message('two')
    await assert.rejects(store.imports.place(lease, messagesPlacement(placed, [fresh, taken]), PROGRESS))
    const object = row('message', fresh.id, { parent: placed.conversationId })
    assert.deepEqual(await stateOf(store, lease, object), { state: 'free' })
    assert.deepEqual(
      (await listed(store, placed)).map(({ id }) => id),
      [taken.id],
    )
    assert.equal((await store.conversations.get(ORGANIZATION, placed.conversationId))?.nextPosition, 1)
  },

  'messages are appended densely in their order, and the cursor moves in their transaction': async ({ store }) => {
    const lease = await startedImport(store)
    const placed = await placeAgent(store, lease)
    // More than one statement inserts at once.
    const messages = Array.from({ length: 150 }, (_, index) => message(`Text ${index}`))
    const cursorOf = async () => {
      const known = await stateOf(store, lease, row('conversation', placed.conversationId))
      return known?.state === 'known' ? known.object.cursor : undefined
    }
    assert.equal(await cursorOf(), undefined)
    await store.imports.place(lease, messagesPlacement(placed, messages.slice(0, 100), messages[99]!.id), PROGRESS)
    assert.equal(await cursorOf(), messages[99]!.id)
    await store.imports.place(lease, messagesPlacement(placed, messages.slice(100)), PROGRESS)
    assert.equal(await cursorOf(), messages[99]!.id)
    const there = await listed(store, placed)
    assert.deepEqual(
      there.map(({ id, position }) => [id, position]),
      messages.map(({ id }, index) => [id, index]),
    )
    assert.deepEqual(there[120]?.body, messages[120]!.body)
  },

  'what is known of many ids at once: rows of this import, ids that others took, and free ones': async ({ store }) => {
    const lease = await startedImport(store)
    const placed = await placeAgent(store, lease)
    const messages = Array.from({ length: 70 }, (_, index) => message(`Text ${index}`))
    await store.imports.place(lease, messagesPlacement(placed, messages), PROGRESS)
    const mine = await createAgent(store)
    const free = newId.message()
    const ids = [...messages.map(({ id }) => id), free]
    const known = await store.imports.known(lease, 'message', ids, placed.conversationId)
    assert.deepEqual(
      ids.map((id) => known.get(id)?.state),
      [...messages.map(() => 'known'), 'free'],
    )
    // The row belongs to one conversation of the source; in another one the id is taken.
    const elsewhere = await store.imports.known(lease, 'message', [messages[0]!.id], 'conv-other')
    assert.deepEqual(elsewhere.get(messages[0]!.id), { state: 'taken' })
    assert.deepEqual((await store.imports.known(lease, 'agent', [mine.agentId])).get(mine.agentId), { state: 'taken' })
    assert.deepEqual((await store.imports.known(lease, 'folder', ['f'])).get('f'), { state: 'free' })
  },

  'a message that a fork shares gets a row of its own under the id of its original': async ({ store }) => {
    const lease = await startedImport(store)
    const [one, other] = [await placeAgent(store, lease), await placeAgent(store, lease)]
    const shared = message('shared')
    await store.imports.place(lease, messagesPlacement(one, [shared]), PROGRESS)
    await store.imports.place(lease, messagesPlacement(other, [{ ...shared, copyOf: shared.id }]), PROGRESS)
    for (const placed of [one, other])
      assert.deepEqual(
        (await listed(store, placed)).map(({ id }) => id),
        [shared.id],
      )
  },

  "the model's view begins where the import says, unless a run has used the conversation": async ({ store }) => {
    const lease = await startedImport(store)
    const placed = await placeAgent(store, lease)
    const messages = Array.from({ length: 80 }, (_, index) => message(`Text ${index}`))
    await store.imports.place(lease, messagesPlacement(placed, messages), PROGRESS)
    const startOf = async () => (await store.conversations.get(ORGANIZATION, placed.conversationId))?.contextStart
    const view = messages.slice(5).map(({ id }) => id as MessageId)
    await store.imports.setView(lease, placed.conversationId, view.toReversed())
    assert.equal(await startOf(), 5)
    await store.imports.setView(lease, placed.conversationId, [])
    assert.equal(await startOf(), 80)
    await store.imports.setStart(lease, placed.conversationId, { start: 7, listStart: 3 })
    assert.equal(await startOf(), 7)
    assert.equal((await listed(store, placed))[0]?.position, 3)
    await createRunningRun(store, placed)
    await store.imports.setView(lease, placed.conversationId, view)
    assert.equal(await startOf(), 7)
  },

  'counts, remarks and kept objects: failures first, bodies in pages, and a new pass forgets the failures': async ({
    store,
  }) => {
    const lease = await startedImport(store)
    const { id } = lease.record
    const { agentId } = await placeAgent(store, lease)
    const without = { kind: 'folder' as const, parent: '', outcome: 'kept' as const, reason: 'No home.' }
    const kept: ImportObject[] = ['folder-1', 'folder-2', 'folder-3'].map((sourceId) => ({
      ...without,
      sourceId,
      body: `{"id":"${sourceId}"}`,
    }))
    const failed: ImportObject = { kind: 'tool', sourceId: 'tool-1', parent: '', outcome: 'failed', reason: '500' }
    const renamed = row('block', 'block-x', { targetId: 'block-y', reason: 'Its id was taken.' })
    await store.imports.place(lease, { type: 'objects', objects: [...kept, failed, renamed] }, PROGRESS)
    const counts = await store.imports.counts(ORGANIZATION, id)
    const countOf = (kind: string) =>
      counts.filter((one) => one.kind === kind).map(({ outcome, remapped, count }) => [outcome, remapped, count])
    assert.deepEqual(['agent', 'conversation', 'folder', 'tool', 'block'].map(countOf), [
      [['imported', 0, 1]],
      [['imported', 0, 1]],
      [['kept', 0, 3]],
      [['failed', 0, 1]],
      [['imported', 1, 1]],
    ])
    const remarks = await store.imports.remarks(ORGANIZATION, id, 3)
    assert.deepEqual(
      remarks.map(({ sourceId, outcome }) => [sourceId, outcome]),
      [
        ['tool-1', 'failed'],
        ['block-x', 'imported'],
        ['folder-1', 'kept'],
      ],
    )
    const pageOf = (after: string) => store.imports.kept(ORGANIZATION, id, { kind: 'folder', after, limit: 2 })
    assert.deepEqual(await pageOf(''), kept.slice(0, 2))
    assert.deepEqual(await pageOf('folder-2'), kept.slice(2))
    await store.imports.forgetFailures(lease)
    assert.deepEqual(await stateOf(store, lease, failed), { state: 'free' })
    assert.equal((await stateOf(store, lease, kept[0]!))?.state, 'known')
    assert.equal((await stateOf(store, lease, row('agent', agentId)))?.state, 'known')
  },

  'what was imported and deleted here stays known as deleted': async ({ store, snapshot }) => {
    const lease = await startedImport(store)
    const placed = await placeAgent(store, lease)
    const one = message('one')
    await store.imports.place(lease, messagesPlacement(placed, [one]), PROGRESS)
    const passage = {
      id: `passage-${randomUUID()}` as const,
      organizationId: ORGANIZATION,
      agentId: placed.agentId,
      text: 'Whales sing.',
      tags: [],
      createdAt: AT,
      vector: { model: 'openai/tiny', values: [1, 0] },
    }
    const objects = [row('passage', passage.id, { ownerId: placed.agentId })]
    await store.imports.place(lease, { type: 'passages', passages: [passage], objects }, PROGRESS)
    assert.deepEqual((await store.passages.vectorsOf([passage.id])).get(passage.id)?.model, 'openai/tiny')
    assert.ok((await collect(snapshot.importObjects())).every(({ isThere }) => isThere))
    await store.agents.delete(ORGANIZATION, placed.agentId)
    const objectsAfter = await collect(snapshot.importObjects())
    assert.deepEqual(
      objectsAfter.map(({ object: { outcome, targetId } }) => [outcome, targetId]),
      objectsAfter.map(() => ['deleted', undefined]),
    )
    assert.equal(objectsAfter.length, 4)
  },
}
