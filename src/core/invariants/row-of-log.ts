import type { NewMessage } from '../message.ts'
import { project } from '../projection.ts'
import { type Run, STATUS_OF_STOP } from '../run.ts'
import type { RunTrace } from './trace.ts'

/** What a run's row must say, because its log says so. */
export type RowOfLog = Pick<Run, 'status' | 'waiting' | 'deaths'> &
  Partial<Pick<Run, 'stopReason' | 'error' | 'completedAt' | 'expiresAt'>>

/** The fields in the order in which differences are told. */
export const ROW_FIELDS: Record<keyof RowOfLog, string> = {
  status: 'status',
  waiting: 'waiting',
  stopReason: 'stop_reason',
  error: 'error',
  deaths: 'deaths',
  completedAt: 'completed_at',
  expiresAt: 'expires_at',
}

/** The log does not say that a run was claimed; its fence does. */
export function rowOfLog({ run, moments, final }: RunTrace): RowOfLog {
  const { ended, phase, deaths, settings } = final
  const end = moments.findLast(({ event }) => event.type === 'turn-ended')
  return {
    status: ended ? STATUS_OF_STOP[ended.stopReason] : run.fence > 0 ? 'running' : 'created',
    waiting: phase === 'waiting',
    deaths,
    ...(ended ? { stopReason: ended.stopReason } : {}),
    ...(ended?.error ? { error: ended.error } : {}),
    ...(end ? { completedAt: end.at } : {}),
    ...(end && phase === 'waiting' ? { expiresAt: end.at + settings.approvalTtlMs } : {}),
  }
}

/** The messages a run added to its conversation, in their order. */
export function messagesOfLog({ run, moments, accepted }: RunTrace): NewMessage[] {
  // A run that was never claimed held its conversation only if it was opened to carry out an approval.
  const holdsConversation = run.fence > 0 || accepted.continues !== undefined
  return moments.flatMap(({ at, event, before }) =>
    project(before, event, { runId: run.id, at, holdsConversation }).flatMap((change) =>
      change.type === 'add-message' ? [change.message] : [],
    ),
  )
}
