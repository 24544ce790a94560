import { type Block, type BlockAuthor, DEFAULT_BLOCK_LIMIT } from '../../core/block.ts'
import { defined } from '../../core/defined.ts'
import type { AgentId, OrganizationId } from '../../core/id.ts'
import type { ToolWrite } from '../../core/tool-write.ts'
import { StaleWrite } from '../../ports/stale-write.ts'
import type { ToolWriteStore } from '../../ports/tool-write-store.ts'
import type { Database } from '../database/database.ts'
import type { Executor } from '../database/statement.ts'
import { createOwn, deleteOwn } from '../schedule-rows/own-schedules.ts'
import { attachBlock, detachBlock } from './agent-blocks.ts'
import { insertBlock, relabelBlock, replaceBlockValue } from './blocks.ts'
import { insertPassage } from './passages.ts'

export const toolWriteStore = ({ write }: Pick<Database, 'write'>): ToolWriteStore => ({
  carryOut: (writer, writes, at) =>
    write<'done' | 'stale'>({
      key: writer.agentId,
      async work(db): Promise<'done'> {
        for (const one of writes) await applyToolWrite(db, writer, { write: one, at })
        return 'done'
      },
    }).catch((fault) => {
      if (fault instanceof StaleWrite) return 'stale'
      throw fault
    }),
})

/** The agent whose tool asks for a write, and who the history of its blocks names. */
type Writer = { organizationId: OrganizationId; agentId: AgentId; author: BlockAuthor }

/** Throws StaleWrite, which rolls back the whole commit, if a row is not the version that the tool read. */
export async function applyToolWrite(
  db: Executor,
  writer: Writer,
  { write, at }: { write: ToolWrite; at: number },
): Promise<void> {
  if (!(await carryOut(db, { ...writer, write, at }))) throw new StaleWrite()
}

/** False: the rows have changed since the tool read them. */
async function carryOut(
  db: Executor,
  { organizationId, agentId, author, write, at }: Writer & { write: ToolWrite; at: number },
): Promise<boolean> {
  switch (write.type) {
    case 'replace-block': {
      const { blockId, value, version } = write
      return replaceBlockValue(db, { organizationId, id: blockId, value, version, author, at })
    }
    case 'insert-passage': {
      const { passageId, text, tags } = write
      await insertPassage(db, { id: passageId, organizationId, agentId, text, tags, createdAt: at })
      return true
    }
    case 'create-block': {
      const { blockId, label, value, description } = write
      await insertBlock(db, {
        ...EMPTY_BLOCK,
        id: blockId,
        organizationId,
        label,
        value,
        ...defined({ description }),
        author,
        writtenAt: at,
        createdAt: at,
        updatedAt: at,
      })
      return (await attachBlock(db, { organizationId, agentId, blockId })) === 'attached'
    }
    case 'detach-block':
      return detachBlock(db, { organizationId, agentId, blockId: write.blockId })
    case 'relabel-block': {
      const { blockId, ...change } = write
      return relabelBlock(db, { organizationId, id: blockId, change, at })
    }
    case 'create-schedule':
      return createOwn(db, write)
    case 'delete-schedule':
      return deleteOwn(db, { organizationId, agentId, id: write.scheduleId })
  }
}

const EMPTY_BLOCK: Pick<Block, 'limit' | 'readOnly' | 'tags' | 'metadata' | 'isTemplate' | 'version'> = {
  limit: DEFAULT_BLOCK_LIMIT,
  readOnly: false,
  tags: [],
  metadata: {},
  isTemplate: false,
  version: 1,
}
