import type { ConversationId, RunId } from '../../core/id.ts'
import { type Executor, statement } from '../database/statement.ts'
import type { ChangedRun } from '../rows/run-row.ts'

/** Remembers which run asked a person about these calls. The engine renames a call whose id was asked about before. */
export async function saveAskedCalls(db: Executor, run: ChangedRun, callIds: readonly string[]): Promise<void> {
  const { id: run_id, organization_id, conversation_id } = run
  for (const call_id of callIds) await db.run(insert, { conversation_id, call_id, organization_id, run_id })
}

/** Of these calls, those that a run of the conversation has asked about, with that run. */
export async function findAskedCalls(
  db: Executor,
  conversation: ConversationId,
  callIds: readonly string[],
): Promise<Map<string, RunId>> {
  const asked = new Map<string, RunId>()
  for (const call of callIds) {
    const row = await db.get(byCall, { conversation, call })
    if (row) asked.set(call, row.run_id)
  }
  return asked
}

const insert = statement<{
  conversation_id: ConversationId
  call_id: string
  organization_id: ChangedRun['organization_id']
  run_id: RunId
}>()((db, p) =>
  db
    .insertInto('asked_calls')
    .values({
      conversation_id: p('conversation_id'),
      call_id: p('call_id'),
      organization_id: p('organization_id'),
      run_id: p('run_id'),
    })
    .onConflict((conflict) => conflict.columns(['conversation_id', 'call_id']).doNothing()),
)

const byCall = statement<{ conversation: ConversationId; call: string }>()((db, p) =>
  db
    .selectFrom('asked_calls')
    .select('run_id')
    .where('conversation_id', '=', p('conversation'))
    .where('call_id', '=', p('call')),
)
