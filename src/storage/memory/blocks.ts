import { type SqlBool, sql } from 'kysely'
import type { Block, BlockAuthor } from '../../core/block.ts'
import type { AgentId, BlockId, OrganizationId } from '../../core/id.ts'
import type { BlockStore } from '../../ports/block-store.ts'
import type { Database } from '../database/database.ts'
import { markTargetDeleted } from '../database/imported-targets.ts'
import {
  type Bounds,
  hasTags,
  inBounds,
  isBlank,
  likePattern,
  readPage,
  type TagValues,
  tagValues,
} from '../database/list-page.ts'
import { insertInto, rowById, updateById } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { BLOCK } from '../rows/block-row.ts'
import { attachBlock, detachBlock, invalidatePromptsOfBlock, isLabelFree, relabel } from './agent-blocks.ts'
import { replacedValue, versionsOf } from './block-versions.ts'

export function blockStore({ read, write }: Database): BlockStore {
  return {
    create: (block) =>
      write({
        key: block.id,
        async work(db) {
          await insertBlock(db, block)
          return true
        },
        findCommitted: async (db) =>
          (await db.get(byId.plain, idOf(block.organizationId, block.id))) ? true : undefined,
      }).then(() => undefined),

    get: (organizationId, id) =>
      read(async (db) => {
        const row = await db.get(byId.plain, idOf(organizationId, id))
        return row && BLOCK.objectOf(row)
      }),

    list: (organizationId, filter, page) =>
      read((db) =>
        readPage(page, {
          find: (id) => db.get(byId.plain, idOf(organizationId, id as BlockId)),
          read: (direction, bounds) =>
            db.page(LISTS[direction], {
              ...bounds,
              ...tagValues(filter.tags, filter.allTags ? 'all' : 'any'),
              organization: organizationId,
              label: filter.label ?? '',
              name: filter.name ?? '',
              labelText: likePattern(filter.labelText),
              valueText: likePattern(filter.valueText),
              descriptionText: likePattern(filter.descriptionText),
              template: filter.isTemplate ? 1 : 0,
              over: filter.agentsOver ?? -1,
              under: filter.agentsUnder ?? Number.MAX_SAFE_INTEGER,
            }),
          objectOf: BLOCK.objectOf,
        }),
      ),

    update: (organizationId, id, edit) =>
      write({
        key: id,
        async work(db) {
          const row = await db.get(byId.locked, idOf(organizationId, id))
          if (!row) return undefined
          const before = BLOCK.objectOf(row)
          const edited = edit(before)
          const block = edited.value === before.value ? edited : { ...edited, version: before.version + 1 }
          if (block.label !== before.label) {
            if (!(await isLabelFree(db, id, block.label))) return 'label-taken' as const
            await relabel(db, id, block.label)
          }
          await db.run(update, BLOCK.rowOf(block))
          return block
        },
      }),

    delete: (organizationId, id) =>
      write({
        key: id,
        async work(db) {
          if (!(await db.get(byId.locked, idOf(organizationId, id)))) return false
          await removeBlock(db, id)
          return true
        },
      }),

    versions: (organizationId, id) => read((db) => versionsOf(db, { organizationId, id })),

    replaced: (organizationId, id, version) => read((db) => replacedValue(db, { organizationId, id, version })),

    ofAgent: (organizationId, agentId) =>
      read(async (db) =>
        (await db.all(blocksOfAgent, { organization: organizationId, agent: agentId })).map(BLOCK.objectOf),
      ),

    attach: (organizationId, agentId, blockId) =>
      write({ key: agentId, work: (db) => attachBlock(db, { organizationId, agentId, blockId }) }),

    detach: (organizationId, agentId, blockId) =>
      write({ key: agentId, work: (db) => detachBlock(db, { organizationId, agentId, blockId }) }),
  }
}

export async function removeBlock(db: Executor, id: BlockId): Promise<void> {
  await invalidatePromptsOfBlock(db, id)
  await markTargetDeleted(db, id)
  await db.run(detachEverywhere, { id })
  await db.run(remove, { id })
}

export async function insertBlock(db: Executor, block: Block): Promise<void> {
  await db.run(insert, BLOCK.rowOf(block))
}

/** False: the block has changed since it was read. */
export async function replaceBlockValue(
  db: Executor,
  write: {
    organizationId: OrganizationId
    id: BlockId
    value: string
    version: number
    author: BlockAuthor
    at: number
  },
): Promise<boolean> {
  const { organizationId, author, ...rest } = write
  const values = { organization: organizationId, author: JSON.stringify(author), ...rest }
  return (await db.run(replaceValue, values)) === 1
}

/** False: the block is gone or read-only, or the label is taken. */
export async function relabelBlock(
  db: Executor,
  {
    organizationId,
    id,
    change,
    at,
  }: { organizationId: OrganizationId; id: BlockId; change: Pick<Partial<Block>, 'label' | 'description'>; at: number },
): Promise<boolean> {
  const row = await db.get(byId.locked, idOf(organizationId, id))
  const before = row && BLOCK.objectOf(row)
  if (!before || before.readOnly) return false
  const after = { ...before, ...change, updatedAt: at }
  if (after.label !== before.label) {
    if (!(await isLabelFree(db, id, after.label))) return false
    await relabel(db, id, after.label)
  }
  await db.run(update, BLOCK.rowOf(after))
  await invalidatePromptsOfBlock(db, id)
  return true
}

const idOf = (organization: OrganizationId, id: BlockId) => ({ organization, id })

const insert = insertInto('blocks', BLOCK.columns)

const update = updateById('blocks', BLOCK.columns)

const byId = rowById('blocks')

const replaceValue = statement<{
  organization: OrganizationId
  id: BlockId
  value: string
  version: number
  author: string
  at: number
}>()((db, p) =>
  db
    .updateTable('blocks')
    .set({
      value: p('value'),
      version: sql`version + 1`,
      author: p('author'),
      written_at: p('at'),
      updated_at: p('at'),
    })
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization'))
    .where('version', '=', p('version'))
    // A user may have locked it, or lowered its limit, since the tool read it.
    .where('read_only', '=', sql.lit(0))
    .where(sql<SqlBool>`length(cast(${p('value')} as text)) <= char_limit`),
)

const remove = statement<{ id: BlockId }>()((db, p) => db.deleteFrom('blocks').where('id', '=', p('id')))

const detachEverywhere = statement<{ id: BlockId }>()((db, p) =>
  db.deleteFrom('agent_blocks').where('block_id', '=', p('id')),
)

export const blocksOfAgent = statement<{ organization: OrganizationId; agent: AgentId }>()((db, p) =>
  db
    .selectFrom('agent_blocks')
    .innerJoin('blocks', 'blocks.id', 'agent_blocks.block_id')
    .selectAll('blocks')
    .where('agent_blocks.agent_id', '=', p('agent'))
    .where('blocks.organization_id', '=', p('organization'))
    .orderBy('agent_blocks.position'),
)

type Values = Bounds &
  TagValues & {
    organization: OrganizationId
    label: string
    name: string
    labelText: string
    valueText: string
    descriptionText: string
    template: number
    over: number
    under: number
  }

const listOf = (order: 'asc' | 'desc') =>
  statement<Values>()((db, p, { listItems }) => {
    const agents = sql`(select count(*) from agent_blocks where agent_blocks.block_id = blocks.id)`
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
      .where(hasTags(p, listItems(sql`blocks.tags`)))
      .orderBy('number', order)
      .limit(p('limit'))
  })

const LISTS = { up: listOf('asc'), down: listOf('desc') }
