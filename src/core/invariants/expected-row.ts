import { defined } from '../defined.ts'
import type { NewMessage } from '../message.ts'
import { findSilence, project } from '../projection.ts'
import { type Run, STATUS_OF_STOP } from '../run.ts'
import type { RunTrace } from './trace.ts'

/** The fields of a run's row that follow from its log. */
export type ExpectedRow = Pick<Run, 'status' | 'waiting' | 'deaths'> &
  Partial<Pick<Run, 'stopReason' | 'error' | 'completedAt' | 'expiresAt' | 'silent'>>

/** The columns, in the order in which differences are reported. */
export const ROW_FIELDS: Record<keyof ExpectedRow, string> = {
  status: 'status',
  waiting: 'waiting',
  stopReason: 'stop_reason',
  error: 'error',
  deaths: 'deaths',
  completedAt: 'completed_at',
  expiresAt: 'expires_at',
  silent: 'silent',
}

/** The log has no event for a claim: a fence above 0 shows that the run was claimed. */
export function expectedRow({ run, moments, final }: RunTrace): ExpectedRow {
  const silence = moments.findLast(({ event }) => event.type === 'answer-received')
  const { ended, phase, deaths, settings } = final
  const end = moments.findLast(({ event }) => event.type === 'turn-ended')
  return {
    status: ended ? STATUS_OF_STOP[ended.stopReason] : run.fence > 0 ? 'running' : 'created',
    waiting: phase === 'waiting',
    deaths,
    ...defined({
      stopReason: ended ? ended.stopReason : undefined,
      error: ended?.error ? ended.error : undefined,
      silent: silence && silentAfter(silence),
      completedAt: end ? end.at : undefined,
      expiresAt: end && phase === 'waiting' ? end.at + settings.approvalTtlMs : undefined,
    }),
  }
}

const silentAfter = ({ before, event }: RunTrace['moments'][number]): boolean | undefined =>
  event.type === 'answer-received' ? findSilence(before, event) : undefined

/** The messages that a run adds to its conversation, in order. */
export function expectedMessages({ run, moments, accepted }: RunTrace): NewMessage[] {
  // An unclaimed run holds its conversation only if it continues after an approval.
  const holdsConversation = run.fence > 0 || accepted.continues !== undefined
  return moments.flatMap(({ at, event, before }) =>
    project(before, event, { runId: run.id, at, holdsConversation }).flatMap((change) =>
      change.type === 'add-message' ? [change.message] : [],
    ),
  )
}
