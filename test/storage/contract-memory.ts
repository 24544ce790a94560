import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Block, BlockAuthor } from '../../src/core/block.ts'
import { defined } from '../../src/core/defined.ts'
import type { AgentId, BlockId, ConversationId, OrganizationId, PassageId } from '../../src/core/id.ts'
import type { Passage } from '../../src/core/passage.ts'
import type { StoredTool } from '../../src/core/stored-tool.ts'
import { StaleWrite } from '../../src/ports/stale-write.ts'
import type { Store } from '../../src/ports/store.ts'
import { BLOCK, type BlockRow } from '../../src/storage/rows/block-row.ts'
import { columnsOf } from './columns.ts'
import type { ContractTests } from './contract.ts'
import {
  AT,
  asHolder,
  createAgent,
  createRunningRun,
  entry,
  fault,
  finish,
  newBlock,
  newId,
  ORGANIZATION,
  OTHER_ORGANIZATION,
  says,
} from './fixture-storage.ts'

/** A value in every column; a JSON list is valid as text, list and JSON. */
function filledBlock({ text, flag, number }: { text: string; flag: number; number: number }): Block {
  const filler = (type: string) => (type === 'text' ? JSON.stringify([text]) : type === 'smallint' ? flag : number)
  const row = Object.fromEntries(columnsOf('blocks').map(({ name, type }) => [name, filler(type)]))
  return BLOCK.objectOf(row as BlockRow)
}

const BY_HAND: BlockAuthor = { type: 'caller', by: { actor: 'home' } }

const newPassage = (agentId: AgentId, text: string, more: Partial<Passage> = {}): Passage => ({
  id: `passage-${randomUUID()}` as PassageId,
  organizationId: ORGANIZATION,
  agentId,
  text,
  tags: [],
  createdAt: AT,
  ...more,
})

const newTool = (name: string): StoredTool => ({
  id: `tool-${randomUUID()}`,
  organizationId: ORGANIZATION,
  name,
  description: 'does it',
  toolType: 'custom',
  sourceType: 'python',
  sourceCode: 'def it(): pass',
  jsonSchema: { name },
  tags: ['x'],
  returnCharLimit: 10,
  needsApproval: false,
  parallel: false,
  wire: {},
  createdAt: AT,
  updatedAt: AT,
})

async function createBlocks(store: Store, ...labels: string[]): Promise<Block[]> {
  const blocks = labels.map((label) => newBlock(label))
  for (const block of blocks) await store.blocks.create(block)
  return blocks
}

const idsOf = (items: { id: string }[] | undefined) => items?.map(({ id }) => id)
const upwards = { limit: 10, order: 'asc' as const }

/** The stored prompt; undefined if the next turn would compile one. */
async function keptPrompt(
  store: Store,
  organizationId: OrganizationId,
  id: ConversationId,
): Promise<string | undefined> {
  const opened = await store.prompts.open(organizationId, id)
  return typeof opened?.system === 'string' ? opened.system : undefined
}

export const MEMORY: ContractTests = {
  async 'the writes of a tool are all made, or none if a row has changed'({ store }) {
    const { agentId } = await createAgent(store)
    const agent = { organizationId: ORGANIZATION, agentId, author: BY_HAND }
    const [human, old] = [newBlock('human'), newBlock('old')]
    for (const block of [human, old]) {
      await store.blocks.create(block)
      await store.blocks.attach(ORGANIZATION, agentId, block.id)
    }
    const create = (label: string) =>
      ({ type: 'create-block', blockId: newBlock(label).id, label, value: 'v', description: 'd' }) as const
    const labels = async () => (await store.blocks.ofAgent(ORGANIZATION, agentId)).map(({ label }) => label)
    const taken = [create('new'), { type: 'relabel-block', blockId: human.id, label: 'new' }] as const
    assert.equal(await store.toolWrites.carryOut(agent, taken, AT), 'stale')
    assert.equal(await store.toolWrites.carryOut(agent, [create('human')], AT), 'stale')
    assert.deepEqual(await labels(), ['human', 'old'])
    const writes = [
      { type: 'detach-block', blockId: old.id },
      { type: 'relabel-block', blockId: human.id, label: 'user', description: 'who' },
      { type: 'replace-block', blockId: human.id, value: 'Ada', version: 1 },
      create('old'),
    ] as const
    assert.equal(await store.toolWrites.carryOut(agent, writes, AT), 'done')
    assert.deepEqual(await labels(), ['user', 'old'])
    assert.equal(await store.toolWrites.carryOut(agent, [writes[0]], AT), 'stale')
    const found = await store.blocks.get(ORGANIZATION, human.id)
    assert.deepEqual([found?.value, found?.description, found?.version], ['Ada', 'who', 2])
  },

  'every column of a block is read back as it was written and as it was updated': async ({ store }) => {
    const fixed = { id: `block-${randomUUID()}` as BlockId, organizationId: ORGANIZATION, createdAt: AT }
    const written: Block = { ...filledBlock({ text: 'written', flag: 1, number: 7 }), ...fixed }
    await store.blocks.create(written)
    assert.deepEqual(await store.blocks.get(ORGANIZATION, written.id), written)

    const changed: Block = { ...filledBlock({ text: 'changed', flag: 0, number: 8 }), ...fixed }
    await store.blocks.update(ORGANIZATION, written.id, () => changed)
    // The store increments the version itself.
    assert.deepEqual(await store.blocks.get(ORGANIZATION, written.id), { ...changed, version: written.version + 1 })
  },

  'a conversation reads its own copy of a block in place of the shared one, and deletes it with itself': async ({
    store,
  }) => {
    const { agentId } = await createAgent(store)
    const [human, rules] = [newBlock('human'), newBlock('rules')]
    for (const block of [human, rules]) {
      await store.blocks.create(block)
      await store.blocks.attach(ORGANIZATION, agentId, block.id)
    }
    const [own, lone] = [newBlock('human', { value: 'its own' }), newBlock('lone')]
    const id = newId.conversation()
    const details = { ownBlocks: [own.id, lone.id] }
    const place = { id, organizationId: ORGANIZATION, agentId, isDefault: false, contextStart: 0, nextPosition: 0 }
    await store.conversations.create({ ...place, createdAt: AT, details }, [own, lone])
    const labels = async () => (await store.prompts.blocks(ORGANIZATION, id)).map(({ label, value }) => [label, value])
    assert.deepEqual(await labels(), [
      ['human', 'its own'],
      ['rules', rules.value],
      ['lone', lone.value],
    ])
    assert.deepEqual(await store.prompts.blocks(OTHER_ORGANIZATION, id), [])
    await store.blocks.delete(ORGANIZATION, own.id)
    assert.deepEqual((await labels())[0], ['human', human.value])
    assert.equal((await store.conversations.delete(ORGANIZATION, id, AT)).type, 'deleted')
    assert.equal(await store.blocks.get(ORGANIZATION, lone.id), undefined)
    assert.deepEqual(await store.blocks.get(ORGANIZATION, rules.id), rules)
  },

  'an agent is created with its blocks, tags and prompt atomically': async ({ store }) => {
    const [shared] = await createBlocks(store, 'shared')
    const own = newBlock('persona', {
      description: 'who',
      readOnly: true,
      tags: ['t'],
      metadata: { a: 1 },
      hidden: true,
    })
    const { agentId } = await createAgent(store)
    const agent = { ...(await store.agents.get(ORGANIZATION, agentId))!, id: newId.agent() }
    const made = { ...agent, settings: { agentType: 'letta_v1_agent', wire: { model_settings: { x: null } } } }
    const contents = { newBlocks: [own], blockIds: [own.id, shared!.id], tags: ['b', 'a', 'b'], prompt: 'You are.' }
    const conversationId = newId.conversation()
    await store.agents.create(made, conversationId, contents)
    assert.deepEqual(await store.agents.get(ORGANIZATION, made.id), made)
    assert.deepEqual(await store.blocks.ofAgent(ORGANIZATION, made.id), [{ ...own, madeFor: made.id }, shared])
    assert.deepEqual((await store.tags.ofAgents(ORGANIZATION, [made.id])).get(made.id), ['a', 'b'])
    assert.equal(await keptPrompt(store, ORGANIZATION, conversationId), 'You are.')
    const twice = { ...made, id: newId.agent() }
    const labels = { newBlocks: [newBlock('same')], blockIds: [] as BlockId[] }
    const [same] = await createBlocks(store, 'same')
    labels.blockIds = [labels.newBlocks[0]!.id, same!.id]
    await assert.rejects(store.agents.create(twice, newId.conversation(), labels))
    assert.equal(await store.agents.get(ORGANIZATION, twice.id), undefined)
    assert.equal(await store.blocks.get(ORGANIZATION, labels.newBlocks[0]!.id), undefined)
  },

  'agents are listed in both directions by any mix of name, text, tags, block and last stop reason': async ({
    store,
  }) => {
    const made: AgentId[] = []
    for (const [index, tags] of [['a'], ['a', 'b'], ['b'], []].entries()) {
      const { agentId } = await createAgent(store)
      const edit = (agent: NonNullable<Awaited<ReturnType<Store['agents']['get']>>>) => ({
        ...agent,
        name: `agent ${index}`,
        updatedAt: AT + 10 - index,
      })
      await store.agents.update(ORGANIZATION, agentId, { edit, tags })
      made.push(agentId)
    }
    const search = async (...[filter, page]: [Parameters<Store['agents']['search']>[1], object?]) =>
      idsOf(await store.agents.search(ORGANIZATION, filter, { ...upwards, ...page }))?.map((id) =>
        made.indexOf(id as AgentId),
      )
    assert.deepEqual(await search({}), [0, 1, 2, 3])
    assert.deepEqual(await search({}, { order: 'desc', limit: 3 }), [3, 2, 1])
    assert.deepEqual(await search({}, { order: 'desc', after: made[2] }), [1, 0])
    assert.deepEqual(await search({}, { order: 'desc', before: made[0], limit: 2 }), [2, 1])
    assert.deepEqual(await search({}, { after: made[1] }), [2, 3])
    assert.deepEqual(await search({}, { before: made[3], limit: 2 }), [1, 2])
    assert.equal(await search({}, { after: newId.agent() }), undefined)
    assert.deepEqual(await search({ sortBy: 'updated_at' }), [3, 2, 1, 0])
    assert.deepEqual(await search({ sortBy: 'updated_at' }, { after: made[2] }), [1, 0])
    assert.deepEqual(await search({ sortBy: 'last_run_completion' }), [0, 1, 2, 3])
    assert.deepEqual(await search({ name: 'agent 2' }), [2])
    assert.deepEqual(await search({ text: 'GENT 1' }), [1])
    assert.deepEqual(await search({ text: '%' }), [])
    assert.deepEqual(await search({ tags: ['a', 'b'] }), [0, 1, 2])
    assert.deepEqual(await search({ tags: ['a', 'b'], allTags: true }), [1])
    assert.deepEqual(await store.agents.search(OTHER_ORGANIZATION, {}, upwards), [])
    const [block] = await createBlocks(store, 'shared')
    await store.blocks.attach(ORGANIZATION, made[3]!, block!.id)
    assert.deepEqual(await search({ blockId: block!.id }), [3])
    const { id } = (await store.conversations.defaultOf(ORGANIZATION, made[1]!))!
    await finish(store, await createRunningRun(store, { agentId: made[1]!, conversationId: id }))
    assert.deepEqual(await search({ sortBy: 'last_run_completion' }, { order: 'desc', limit: 1 }), [1])
    assert.deepEqual(await search({ lastStopReason: 'end_turn' }), [1])
    assert.equal((await store.messageSearch.conversationState(ORGANIZATION, id))?.lastRun.stopReason, 'end_turn')
    assert.equal(await store.agents.count(ORGANIZATION), 4)
    assert.deepEqual(await store.tags.list(ORGANIZATION, upwards), ['a', 'b'])
    assert.deepEqual(await store.tags.list(ORGANIZATION, { limit: 1, order: 'desc' }), ['b'])
    assert.deepEqual(await store.tags.list(ORGANIZATION, { ...upwards, after: 'a' }), ['b'])
  },

  'deleting an agent deletes all that belongs to it and keeps what is shared': async ({ store, snapshot }) => {
    const agent = await createAgent(store)
    const other = await createAgent(store)
    const [block] = await createBlocks(store, 'shared')
    await store.blocks.attach(ORGANIZATION, agent.agentId, block!.id)
    await store.passages.insert(newPassage(agent.agentId, 'gone'))
    const run = await createRunningRun(store, agent)
    await store.events.append(asHolder(run, { facts: [entry(fault('x'), says(run.id, 'hello'))] }))
    assert.equal(await store.agents.delete(OTHER_ORGANIZATION, agent.agentId), false)
    assert.equal(await store.agents.delete(ORGANIZATION, agent.agentId), true)
    assert.equal(await store.agents.delete(ORGANIZATION, agent.agentId), false)
    assert.equal(
      (await store.events.append(asHolder({ ...run, nextSeq: 3 }, { facts: [entry(fault('y'))] }))).type,
      'refused',
    )
    assert.equal(await store.runs.get(ORGANIZATION, run.id), undefined)
    assert.deepEqual(await store.events.read(run.id, 0), [])
    assert.deepEqual(await store.messages.context(agent.conversationId), [])
    assert.deepEqual(await store.passages.search(ORGANIZATION, agent.agentId, { text: 'gone', limit: 5 }), [])
    assert.deepEqual(await store.blocks.get(ORGANIZATION, block!.id), block)
    assert.deepEqual(idsOf(await store.agents.search(ORGANIZATION, {}, upwards)), [other.agentId])
    for await (const record of snapshot.conversations()) assert.equal(record.conversation.agentId, other.agentId)
  },

  'blocks keep the order of attachment, and labels are unique on an agent': async ({ store }) => {
    const { agentId } = await createAgent(store)
    const blocks = await createBlocks(store, 'c', 'a', 'b', 'a')
    const attach = (index: number) => store.blocks.attach(ORGANIZATION, agentId, blocks[index]!.id)
    assert.deepEqual([await attach(0), await attach(1), await attach(2)], ['attached', 'attached', 'attached'])
    assert.deepEqual([await attach(1), await attach(3)], ['already', 'label-taken'])
    assert.equal(await store.blocks.attach(OTHER_ORGANIZATION, agentId, blocks[3]!.id), 'not-found')
    const labels = async () => (await store.blocks.ofAgent(ORGANIZATION, agentId)).map(({ label }) => label)
    assert.deepEqual(await labels(), ['c', 'a', 'b'])
    const relabeled = (label: string) =>
      store.blocks.update(ORGANIZATION, blocks[0]!.id, (block) => ({ ...block, label }))
    assert.equal(await relabeled('b'), 'label-taken')
    assert.equal(((await relabeled('d')) as Block).label, 'd')
    assert.equal(await store.blocks.detach(ORGANIZATION, agentId, blocks[1]!.id), true)
    assert.equal(await store.blocks.detach(ORGANIZATION, agentId, blocks[1]!.id), false)
    assert.equal(await attach(3), 'attached')
    assert.deepEqual(await labels(), ['d', 'b', 'a'])
    assert.equal(await store.blocks.delete(ORGANIZATION, blocks[0]!.id), true)
    assert.deepEqual(await labels(), ['b', 'a'])
    assert.deepEqual(await store.blocks.list(OTHER_ORGANIZATION, {}, upwards), [])
    const list = async (filter: Parameters<Store['blocks']['list']>[1]) =>
      (await store.blocks.list(ORGANIZATION, filter, upwards))?.map(({ label }) => label)
    assert.deepEqual(await list({}), ['a', 'b', 'a'])
    assert.deepEqual(await list({ label: 'a', agentsOver: 0 }), ['a'])
    assert.deepEqual(await list({ valueText: 'ABOUT B' }), ['b'])
    await store.blocks.update(ORGANIZATION, blocks[2]!.id, (block) => ({ ...block, tags: ['x"y', 'z'] }))
    assert.deepEqual(await list({ tags: ['x"y', 'other'] }), ['b'])
    assert.deepEqual(await list({ tags: ['x"y', 'other'], allTags: true }), [])
  },

  'a tool write is committed with its event, and a stale one leaves no trace': async ({ store }) => {
    const agent = await createAgent(store)
    const run = await createRunningRun(store, agent)
    const [block] = await createBlocks(store, 'persona')
    const id = block!.id
    const write = (value: string, version: number) => ({
      type: 'carry-out' as const,
      at: AT + 1,
      write: { type: 'replace-block' as const, blockId: id, value, version },
    })
    const append = (seen: number, ...changes: ReturnType<typeof write>[]) =>
      store.events.append(asHolder({ ...run, nextSeq: seen }, { facts: [entry(fault('said'), ...changes)] }))
    assert.equal((await append(2, write('second', 1))).type, 'appended')
    assert.deepEqual(await store.blocks.get(ORGANIZATION, id), {
      ...block,
      value: 'second',
      version: 2,
      author: { type: 'agent', agentId: agent.agentId, runId: run.id },
      writtenAt: AT + 1,
      updatedAt: AT + 1,
    })
    await assert.rejects(append(3, write('third', 1)), StaleWrite)
    await store.blocks.update(ORGANIZATION, id, (one) => ({ ...one, readOnly: true }))
    await assert.rejects(append(3, write('third', 2)), StaleWrite)
    assert.equal((await store.events.read(run.id, 0)).length, 2)
    assert.equal((await append(3)).type, 'appended')
    const passage = {
      type: 'insert-passage' as const,
      passageId: newPassage(agent.agentId, '').id,
      text: 'kept',
      tags: [],
    }
    const carry = { type: 'carry-out' as const, at: AT, write: passage }
    await store.prompts.replace(ORGANIZATION, agent.conversationId, 'old')
    await store.events.append(asHolder({ ...run, nextSeq: 4 }, { facts: [entry(fault('x'), carry)] }))
    const [found] = await store.passages.search(ORGANIZATION, agent.agentId, { text: 'kept', limit: 1 })
    assert.equal(found?.id, passage.passageId)
    assert.equal(await keptPrompt(store, ORGANIZATION, agent.conversationId), undefined)
  },

  'a stored prompt stays until the context moves, and its inputs can be read': async ({ store }) => {
    const agent = await createAgent(store)
    const { conversationId } = agent
    assert.equal(await store.prompts.keep(ORGANIZATION, conversationId, 'one'), 'one')
    assert.equal(await store.prompts.keep(ORGANIZATION, conversationId, 'two'), 'one')
    assert.equal(await keptPrompt(store, OTHER_ORGANIZATION, conversationId), undefined)
    assert.equal(await store.prompts.inputs(OTHER_ORGANIZATION, conversationId), undefined)
    const run = await createRunningRun(store, agent)
    await store.events.append(asHolder(run, { facts: [entry(fault('x'), { type: 'move-context', contextStart: 0 })] }))
    assert.equal(await keptPrompt(store, ORGANIZATION, conversationId), undefined)
    await store.passages.insert(newPassage(agent.agentId, 'a', { tags: ['t'] }))
    const inputs = await store.prompts.inputs(ORGANIZATION, conversationId)
    assert.deepEqual([inputs?.passageCount, inputs?.passageTags, inputs?.blocks], [1, ['t'], []])
    assert.equal(inputs?.agent.id, agent.agentId)
    await store.prompts.replace(ORGANIZATION, conversationId, 'three')
    await store.agents.update(ORGANIZATION, agent.agentId, { recompiles: true })
    assert.equal(await keptPrompt(store, ORGANIZATION, conversationId), undefined)
  },

  'a page of large passages ends early, and reading on after its last one gives all of them': async ({ store }) => {
    const agent = await createAgent(store)
    for (const first of ['a', 'b', 'c', 'd'])
      await store.passages.insert(newPassage(agent.agentId, first + 'x'.repeat(3 * 1_048_576)))
    const pages: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await store.passages.list(ORGANIZATION, agent.agentId, {
        limit: 9,
        order: 'asc',
        ...defined({ after }),
      })
      if (page!.length === 0) break
      pages.push(page!.map(({ text }) => text[0]).join(''))
      after = page!.at(-1)!.id
    }
    assert.deepEqual(pages, ['abc', 'd'])
  },

  'passages are found by their words, best match first': async ({ store }) => {
    const { agentId } = await createAgent(store)
    const other = await createAgent(store)
    const texts = ['The red boat sails at dawn', 'A boat', 'red red boat boat sails', 'nothing of the kind']
    const passages = texts.map((text, index) =>
      newPassage(agentId, text, { tags: index % 2 ? ['odd', 'all'] : ['even', 'all'], createdAt: AT + index }),
    )
    for (const passage of passages) await store.passages.insert(passage)
    await store.passages.insert(newPassage(other.agentId, 'red boat'))
    const search = async (text: string, more = {}) =>
      (await store.passages.search(ORGANIZATION, agentId, { text, limit: 10, ...more })).map((one) =>
        texts.indexOf(one.text),
      )
    assert.equal((await search('red boat sails')).length, 3)
    assert.equal((await search('red boat sails')).at(-1), 1)
    assert.deepEqual(await search('DAWN'), [0])
    assert.deepEqual(await search('" OR near( * & | !'), [])
    assert.deepEqual(await search('boat', { tags: ['odd'] }), [1])
    assert.deepEqual(await search('boat', { tags: ['odd', 'even'], tagMatch: 'all' }), [])
    assert.deepEqual(await search('boat', { from: AT + 2 }), [2])
    assert.deepEqual(await search('boat', { limit: 1, to: AT }), [0])
    assert.deepEqual(await search(''), [3, 2, 1, 0])
    const page = async (more: object) =>
      idsOf(await store.passages.list(ORGANIZATION, agentId, { ...upwards, ...more }))
    assert.deepEqual(await page({ after: passages[1]!.id }), idsOf(passages.slice(2)))
    assert.deepEqual(await page({ text: 'A boat' }), [passages[1]!.id])
    assert.equal(await store.passages.delete(ORGANIZATION, other.agentId, passages[0]!.id), false)
    assert.equal(await store.passages.delete(ORGANIZATION, agentId, passages[0]!.id), true)
    assert.deepEqual(await search('dawn'), [])
  },

  'messages are found in every conversation of an agent': async ({ store }) => {
    const agent = await createAgent(store)
    const run = await createRunningRun(store, agent)
    const facts = ['the red boat', 'a red house', 'nothing'].map((text) => entry(fault('x'), says(run.id, text)))
    await store.events.append(asHolder(run, { facts }))
    const search = async (words: string[], more = {}) =>
      (await store.messageSearch.search(ORGANIZATION, agent.agentId, { text: words.join(' '), limit: 5, ...more })).map(
        ({ position }) => position,
      )
    assert.deepEqual(await search(['red', 'boat']), [0, 1])
    assert.deepEqual(await search([]), [2, 1, 0])
    assert.deepEqual(await search(['red'], { roles: ['assistant'] }), [])
    assert.deepEqual(await search(['red'], { roles: ['user'], limit: 1 }), [1])
    assert.deepEqual(await store.messageSearch.search(OTHER_ORGANIZATION, agent.agentId, { text: '', limit: 5 }), [])
  },

  'a stored tool has a unique name, and a rename reaches every agent that has it': async ({ store }) => {
    const { agentId } = await createAgent(store)
    const tool = newTool('first')
    assert.equal(await store.tools.create(tool), 'created')
    assert.equal(await store.tools.create(newTool('first')), 'name-taken')
    assert.equal(await store.tools.create(newTool('second')), 'created')
    assert.deepEqual(await store.tools.get(ORGANIZATION, tool.id), tool)
    assert.equal(await store.tools.get(OTHER_ORGANIZATION, tool.id), undefined)
    await store.agents.update(ORGANIZATION, agentId, { edit: (agent) => ({ ...agent, tools: ['note', 'first'] }) })
    const rename = (name: string) => store.tools.update(ORGANIZATION, tool.id, (one) => ({ ...one, name }))
    assert.equal(await rename('second'), 'name-taken')
    await rename('third')
    const tools = async () => (await store.agents.get(ORGANIZATION, agentId))?.tools
    assert.deepEqual(await tools(), ['note', 'third'])
    assert.deepEqual(
      (await store.tools.named(ORGANIZATION, ['third', 'no'])).map(({ name }) => name),
      ['third'],
    )
    assert.equal(await store.tools.delete(ORGANIZATION, tool.id), true)
    assert.deepEqual(await tools(), ['note'])
    assert.deepEqual(
      (await store.tools.all(ORGANIZATION)).map(({ name }) => name),
      ['second'],
    )
  },
}
