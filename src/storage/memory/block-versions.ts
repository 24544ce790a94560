import type { BlockVersion } from '../../core/block.ts'
import { defined } from '../../core/defined.ts'
import type { BlockId, OrganizationId } from '../../core/id.ts'
import type { BlockHistoryRecord } from '../../core/invariants/block-history.ts'
import { rowById } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { BLOCK, BLOCK_VERSION } from '../rows/block-row.ts'

type OwnedBlock = { organizationId: OrganizationId; id: BlockId }

/** Triggers write the rows: a value goes there when another one replaces it. */
export async function versionsOf(
  db: Executor,
  { organizationId: organization, id }: OwnedBlock,
): Promise<BlockVersion[] | undefined> {
  const row = await db.get(byId.plain, { organization, id })
  if (!row) return undefined
  const { version, value, updatedAt, writtenAt = updatedAt, author } = BLOCK.objectOf(row)
  const replaced = await db.all(replacedBefore, { id, version })
  // Characters as the databases count them: code points.
  return [
    { version, characters: [...value].length, writtenAt, ...defined({ author }) },
    ...replaced.map(BLOCK_VERSION.objectOf),
  ]
}

export async function replacedValue(
  db: Executor,
  { organizationId: organization, id, version }: OwnedBlock & { version: number },
): Promise<(BlockVersion & { value: string }) | undefined> {
  const row = await db.get(replacedAt, { organization, id, version })
  if (!row) return undefined
  const { value, ...rest } = row
  return { ...BLOCK_VERSION.objectOf(rest), value }
}

/** What invariants check of a page of blocks, by their row numbers. */
export async function blockHistories(
  db: Executor,
  page: { after: number; limit: number },
): Promise<{ items: BlockHistoryRecord[]; last: number | undefined }> {
  const rows = await db.all(blocksAfter, page)
  const items: BlockHistoryRecord[] = []
  for (const { id, version } of rows)
    items.push({ id, version, replaced: (await db.all(replacedVersions, { id })).map((row) => row.version) })
  return { items, last: rows.at(-1)?.number }
}

const byId = rowById('blocks')

const replacedBefore = statement<{ id: BlockId; version: number }>()((db, p) =>
  db
    .selectFrom('block_versions')
    .select(BLOCK_VERSION.columns)
    .where('block_id', '=', p('id'))
    .where('version', '<', p('version'))
    .orderBy('version', 'desc'),
)

const replacedAt = statement<{ organization: OrganizationId; id: BlockId; version: number }>()((db, p) =>
  db
    .selectFrom('block_versions')
    .select(BLOCK_VERSION.columns)
    .select('value')
    .where('block_id', '=', p('id'))
    .where('version', '=', p('version'))
    .where('organization_id', '=', p('organization')),
)

const blocksAfter = statement<{ after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('blocks')
    .select(['number', 'id', 'version'])
    .where('number', '>', p('after'))
    .orderBy('number')
    .limit(p('limit')),
)

const replacedVersions = statement<{ id: BlockId }>()((db, p) =>
  db.selectFrom('block_versions').select('version').where('block_id', '=', p('id')).orderBy('version'),
)
