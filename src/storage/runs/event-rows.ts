import type { LoggedEvent } from '../../core/event.ts'
import type { ProjectedEvent } from '../../core/projection.ts'
import { insertInto } from '../database/row-statements.ts'
import type { Executor } from '../database/statement.ts'
import type { ChangedRun } from '../rows/run-row.ts'

type NewEvents = { entries: readonly Omit<ProjectedEvent, 'changes'>[]; from: number; commitId: string }

/** The events of one commit, numbered from `from`, without the rows that follow from them. */
export async function insertEvents(
  db: Executor,
  run: ChangedRun,
  { entries, from, commitId }: NewEvents,
): Promise<LoggedEvent[]> {
  const news: LoggedEvent[] = []
  for (const { event, at } of entries) {
    const seq = from + news.length
    await db.run(insert, {
      run_number: run.number,
      seq,
      organization_id: run.organization_id,
      at,
      type: event.type,
      body: JSON.stringify(event),
      commit_id: commitId,
    })
    news.push({ seq, at, event })
  }
  return news
}

const insert = insertInto('events', ['run_number', 'seq', 'organization_id', 'at', 'type', 'body', 'commit_id'])
