import type { AgentId, OrganizationId } from '../../core/id.ts'
import type { ToolWrite } from '../../core/tool-write.ts'
import { StaleWrite } from '../../ports/stale-write.ts'
import type { Executor } from '../database/statement.ts'
import { replaceBlockValue } from './blocks.ts'
import { insertPassage } from './passages.ts'

/** Throws StaleWrite, which rolls back the whole commit, if a row is not the version that the tool read. */
export async function applyToolWrite(
  db: Executor,
  run: { organization_id: OrganizationId; agent_id: AgentId },
  { write, at }: { write: ToolWrite; at: number },
): Promise<void> {
  const organizationId = run.organization_id
  switch (write.type) {
    case 'replace-block': {
      const { blockId, value, version } = write
      if (!(await replaceBlockValue(db, { organizationId, id: blockId, value, version, at }))) throw new StaleWrite()
      return
    }
    case 'insert-passage': {
      const { passageId, text, tags } = write
      await insertPassage(db, { id: passageId, organizationId, agentId: run.agent_id, text, tags, createdAt: at })
      return
    }
  }
}
