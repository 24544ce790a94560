import { sql } from 'kysely'
import { DEFAULT_ORGANIZATION, type RunId } from '../../core/id.ts'
import type { NewMessage } from '../../core/message.ts'
import type { ProjectedEvent, RunChange } from '../../core/projection.ts'
import type { RunStatus, StopReason } from '../../core/run.ts'
import { clearList, moveContext } from '../conversations/conversations.ts'
import { insertMessages } from '../conversations/messages.ts'
import { clearCooldown, setCooldown } from '../credentials/cooldowns.ts'
import { noteModel } from '../credentials/model-notes.ts'
import { type Executor, statement } from '../database/statement.ts'
import { applyToolWrite } from '../memory/tool-writes.ts'
import type { ChangedRun } from '../rows/run-row.ts'
import { saveAskedCalls } from './asked-calls.ts'
import { openMovedRun } from './insert-run.ts'
import { insertStep } from './steps.ts'

/** Provider keys belong to the server, so what one organization learns about them applies to all. */
const PROVIDER_KEY_OWNER = DEFAULT_ORGANIZATION

/** Writes the rows that follow from events, in the transaction of the events. */
export async function writeChanges(db: Executor, run: ChangedRun, entries: readonly ProjectedEvent[]): Promise<void> {
  let messages: NewMessage[] | undefined
  let runChange: RunChange | undefined
  for (const entry of entries) {
    for (const change of entry.changes) {
      switch (change.type) {
        case 'add-message':
          messages ??= []
          messages.push(change.message)
          break
        case 'add-step':
          await insertStep(db, run, change.step)
          break
        case 'change-run':
          runChange = runChange ? { ...runChange, ...change.change } : change.change
          break
        case 'move-context':
          await moveContext(db, run.conversation_id, change.contextStart)
          break
        case 'clear-list':
          await clearList(db, run.conversation_id, change.listStart)
          break
        case 'open-run':
          await openMovedRun(db, run, change)
          break
        case 'set-cooldown':
          await setCooldown(db, PROVIDER_KEY_OWNER, change.cooldown)
          break
        case 'clear-cooldown':
          await clearCooldown(db, PROVIDER_KEY_OWNER, change)
          break
        case 'note-model':
          await noteModel(db, PROVIDER_KEY_OWNER, change.note)
          break
        case 'ask-about':
          await saveAskedCalls(db, run, change.callIds)
          break
        case 'carry-out':
          await applyToolWrite(db, writerOf(run), change)
          break
      }
    }
  }
  if (messages) await insertMessages(db, run, messages)
  if (runChange) await changeRun(db, run.id, runChange)
}

const writerOf = ({ id, agent_id: agentId, organization_id: organizationId }: ChangedRun) => ({
  organizationId,
  agentId,
  author: { type: 'agent' as const, agentId, runId: id },
})

async function changeRun(db: Executor, id: RunId, change: RunChange): Promise<void> {
  await db.run(update, {
    id,
    status: change.status ?? null,
    waiting: change.waiting === undefined ? null : change.waiting ? 1 : 0,
    stopReason: change.stopReason ?? null,
    error: change.error ? JSON.stringify(change.error) : null,
    completedAt: change.completedAt ?? null,
    setsExpiry: change.expiresAt === undefined ? 0 : 1,
    expiresAt: change.expiresAt ?? null,
    releases: change.releaseLease ? 1 : 0,
    deaths: change.deaths ?? null,
    silent: change.silent === undefined ? null : change.silent ? 1 : 0,
  })
}

/** One statement for every change: null leaves a column unchanged. */
const update = statement<{
  id: RunId
  status: RunStatus | null
  waiting: number | null
  stopReason: StopReason | null
  error: string | null
  completedAt: number | null
  setsExpiry: number
  expiresAt: number | null
  releases: number
  deaths: number | null
  silent: number | null
}>()((db, p) =>
  db
    .updateTable('runs')
    .set({
      status: sql`coalesce(${p('status')}, status)`,
      waiting: sql`coalesce(${p('waiting')}, waiting)`,
      stop_reason: sql`coalesce(${p('stopReason')}, stop_reason)`,
      error: sql`coalesce(${p('error')}, error)`,
      completed_at: sql`coalesce(${p('completedAt')}, completed_at)`,
      expires_at: sql`case when ${p('setsExpiry')} = 1 then ${p('expiresAt')} else expires_at end`,
      lease_owner: sql`case when ${p('releases')} = 1 then null else lease_owner end`,
      deaths: sql`coalesce(${p('deaths')}, deaths)`,
      silent: sql`coalesce(${p('silent')}, silent)`,
    })
    .where('id', '=', p('id')),
)
