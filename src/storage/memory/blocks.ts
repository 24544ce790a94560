import { type SqlBool, sql } from 'kysely'
import type { Block } from '../../core/block.ts'
import type { BlockId, OrganizationId } from '../../core/id.ts'
import type { BlockStore } from '../../ports/memory-store.ts'
import type { Database } from '../database/database.ts'
import {
  type Bounds,
  boundsOf,
  containing,
  inBounds,
  isBlank,
  listing,
  placesOf,
  TAG_SLOTS,
} from '../database/list-page.ts'
import { type Executor, listParameters, listValues, statement } from '../database/statement.ts'
import { attachBlock, detachBlock, forgetPromptsOfBlock, isLabelFree, relabel } from './agent-blocks.ts'
import { type BlockRow, blockOf, blockRowOf } from './block-row.ts'

export function blockStore({ read, write }: Database): BlockStore {
  return {
    create: (block) =>
      write({
        key: block.id,
        async work(db) {
          await insertBlock(db, block)
          return true
        },
        recall: async (db) => ((await db.get(byId, idOf(block.organizationId, block.id))) ? true : undefined),
      }).then(() => undefined),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId, idOf(organizationId, id))
        return row && blockOf(row)
      }),

    list: (organizationId, filter, page) =>
      read(async (db) => {
        const places = await placesOf(page, async (id) => {
          const row = await db.get(byId, idOf(organizationId, id))
          return row && { key: row.number, number: row.number }
        })
        if (!places) return undefined
        const { bounds, read: direction, reversed } = boundsOf(page, places)
        const tags = [...new Set(filter.tags ?? [])]
        const rows = await db.all(LISTS[direction], {
          ...bounds,
          organization: organizationId,
          label: filter.label ?? '',
          name: filter.name ?? '',
          labelText: containing(filter.labelText),
          valueText: containing(filter.valueText),
          descriptionText: containing(filter.descriptionText),
          template: filter.isTemplate ? 1 : 0,
          over: filter.agentsOver ?? -1,
          under: filter.agentsUnder ?? Number.MAX_SAFE_INTEGER,
          needed: tags.length === 0 ? 0 : filter.allTags ? tags.length : 1,
          ...(listValues('tag', tags.map(listing), TAG_SLOTS) as Record<`tag${number}`, string>),
        })
        const blocks = rows.map(blockOf)
        return reversed ? blocks.reverse() : blocks
      }),

    update: (organizationId, id, edit) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(forUpdate, idOf(organizationId, id))
          if (!row) return undefined
          const before = blockOf(row)
          const edited = edit(before)
          const block = edited.value === before.value ? edited : { ...edited, version: before.version + 1 }
          if (block.label !== before.label) {
            if (!(await isLabelFree(db, id, block.label))) return 'label-taken' as const
            await relabel(db, id, block.label)
          }
          await db.run(update, blockRowOf(block))
          return block
        },
      }),

    delete: (organizationId, id) =>
      write({
        key: id,
        async work(db) {
          if (!(await db.get(forUpdate, idOf(organizationId, id)))) return false
          await removeBlock(db, id)
          return true
        },
      }),

    ofAgent: (organizationId, agentId) =>
      read(async (db) => (await db.all(blocksOfAgent, { organization: organizationId, agent: agentId })).map(blockOf)),

    attach: (organizationId, agentId, blockId) =>
      write({ key: agentId, work: (db) => attachBlock(db, { organizationId, agentId, blockId }) }),

    detach: (organizationId, agentId, blockId) =>
      write({ key: agentId, work: (db) => detachBlock(db, { organizationId, agentId, blockId }) }),
  }
}

export async function removeBlock(db: Executor, id: BlockId): Promise<void> {
  await forgetPromptsOfBlock(db, id)
  await db.run(detachEverywhere, { id })
  await db.run(remove, { id })
}

export async function insertBlock(db: Executor, block: Block): Promise<void> {
  await db.run(insert, blockRowOf(block))
}

/** Answers whether the block was still the one that was read. */
export async function replaceBlockValue(
  db: Executor,
  write: { organizationId: OrganizationId; id: BlockId; value: string; version: number; at: number },
): Promise<boolean> {
  const { organizationId, ...rest } = write
  return (await db.run(replaceValue, { organization: organizationId, ...rest })) === 1
}

const idOf = (organization: string, id: string) => ({ organization, id })

const insert = statement<BlockRow>()((db, p) =>
  db.insertInto('blocks').values({
    id: p('id'),
    organization_id: p('organization_id'),
    label: p('label'),
    value: p('value'),
    char_limit: p('char_limit'),
    description: p('description'),
    read_only: p('read_only'),
    tags: p('tags'),
    metadata: p('metadata'),
    hidden: p('hidden'),
    template_name: p('template_name'),
    is_template: p('is_template'),
    version: p('version'),
    created_at: p('created_at'),
    updated_at: p('updated_at'),
  }),
)

const update = statement<BlockRow>()((db, p) =>
  db
    .updateTable('blocks')
    .set({
      label: p('label'),
      value: p('value'),
      char_limit: p('char_limit'),
      description: p('description'),
      read_only: p('read_only'),
      tags: p('tags'),
      metadata: p('metadata'),
      hidden: p('hidden'),
      template_name: p('template_name'),
      is_template: p('is_template'),
      version: p('version'),
      updated_at: p('updated_at'),
    })
    .where('id', '=', p('id')),
)

const replaceValue = statement<{ organization: string; id: string; value: string; version: number; at: number }>()(
  (db, p) =>
    db
      .updateTable('blocks')
      .set({ value: p('value'), version: sql`version + 1`, updated_at: p('at') })
      .where('id', '=', p('id'))
      .where('organization_id', '=', p('organization'))
      .where('version', '=', p('version'))
      // A person may have locked it, or lowered its limit, since the tool looked.
      .where('read_only', '=', sql.lit(0))
      .where(sql<SqlBool>`length(cast(${p('value')} as text)) <= char_limit`),
)

const byId = statement<{ organization: string; id: string }>()((db, p) =>
  db.selectFrom('blocks').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization')),
)

const forUpdate = statement<{ organization: string; id: string }>()((db, p, { lock }) =>
  lock(db.selectFrom('blocks').selectAll().where('id', '=', p('id')).where('organization_id', '=', p('organization'))),
)

const remove = statement<{ id: string }>()((db, p) => db.deleteFrom('blocks').where('id', '=', p('id')))

const detachEverywhere = statement<{ id: string }>()((db, p) =>
  db.deleteFrom('agent_blocks').where('block_id', '=', p('id')),
)

export const blocksOfAgent = statement<{ organization: string; agent: string }>()((db, p) =>
  db
    .selectFrom('agent_blocks')
    .innerJoin('blocks', 'blocks.id', 'agent_blocks.block_id')
    .selectAll('blocks')
    .where('agent_blocks.agent_id', '=', p('agent'))
    .where('blocks.organization_id', '=', p('organization'))
    .orderBy('agent_blocks.position'),
)

type Values = Bounds & {
  organization: string
  label: string
  name: string
  labelText: string
  valueText: string
  descriptionText: string
  template: number
  over: number
  under: number
  needed: number
  [tag: `tag${number}`]: string
}

const listOf = (direction: 'asc' | 'desc') =>
  statement<Values>()((db, p) => {
    const agents = sql`(select count(*) from agent_blocks where agent_blocks.block_id = blocks.id)`
    const tags = listParameters(p, 'tag', TAG_SLOTS).map(
      (tag) => sql`(case when tags like cast(${tag} as text) escape '\\' then 1 else 0 end)`,
    )
    return db
      .selectFrom('blocks')
      .selectAll()
      .where('organization_id', '=', p('organization'))
      .where(inBounds(sql<number>`number`, p))
      .where(sql<SqlBool>`(${isBlank(p('label'))} or label = ${p('label')})`)
      .where(sql<SqlBool>`(${isBlank(p('name'))} or template_name = ${p('name')})`)
      .where(sql<SqlBool>`(${isBlank(p('labelText'))} or lower(label) like ${p('labelText')} escape '\\')`)
      .where(sql<SqlBool>`(${isBlank(p('valueText'))} or lower(value) like ${p('valueText')} escape '\\')`)
      .where(
        sql<SqlBool>`(${isBlank(p('descriptionText'))} or lower(description) like ${p('descriptionText')} escape '\\')`,
      )
      .where(sql<SqlBool>`(cast(${p('template')} as integer) = 0 or is_template = 1)`)
      .where(sql<SqlBool>`${agents} > cast(${p('over')} as bigint) and ${agents} < cast(${p('under')} as bigint)`)
      .where(
        sql<SqlBool>`(cast(${p('needed')} as integer) = 0 or (${sql.join(tags, sql` + `)}) >= cast(${p('needed')} as integer))`,
      )
      .orderBy('number', direction)
      .limit(p('limit'))
  })

const LISTS = { up: listOf('asc'), down: listOf('desc') }
