import type { DatabaseSync } from 'node:sqlite'
import type { TurnEvent } from '../../../src/core/event.ts'

type Row = { run: string; number: number; rank: number; conversation: string; metadata: string; body: string }

const WORK: readonly TurnEvent['type'][] = ['answer-received', 'answer-cut', 'attempt-failed', 'tool-started']

/** Checks the order of all events of all runs: faults that only show between runs of a conversation. */
export function orderFaults(database: DatabaseSync): string[] {
  const rows = database
    .prepare(
      `select runs.id as run, runs.number as number, runs.queue_rank as rank, runs.conversation_id as conversation,
         runs.metadata as metadata, body
       from events join runs on runs.number = events.run_number order by events.rowid`,
    )
    .all() as Row[]
  const faults: string[] = []
  const waiting = new Map<string, string>()
  const latest = new Map<string, Row>()
  /** Runs that are queued, running or waiting. */
  const active = new Map<string, Set<string>>()
  const inherits = new Set<string>()
  const hasWorked = new Set<string>()
  for (const row of rows) {
    const { run, number, rank, conversation } = row
    const event = JSON.parse(row.body) as TurnEvent
    if (event.type === 'input-accepted' && event.continues) inherits.add(run)
    if (event.type === 'input-accepted' && !event.continues && waiting.has(conversation))
      faults.push(`I10 ${run} was accepted although ${waiting.get(conversation)} waits for approval`)
    if (event.type === 'input-accepted') {
      const others = active.get(conversation) ?? new Set()
      if (event.settings.task === 'expire' && others.size > 0)
        faults.push(`I30 the session of ${conversation} ends in ${run} while ${[...others].join(', ')} is not over`)
      // The clients of the simulator note in a run what it was to do in a busy conversation.
      if (JSON.parse(row.metadata)?.policy === 'reject' && others.size > 0 && !event.continues)
        faults.push(`I31 ${run} was accepted, not refused, while ${[...others].join(', ')} is not over`)
      active.set(conversation, others.add(run))
    }
    if (event.type === 'turn-ended' && event.stopReason !== 'requires_approval') active.get(conversation)?.delete(run)
    if (event.type === 'approval-answered') active.get(conversation)?.delete(run)
    if (event.type === 'turn-ended' && event.stopReason === 'requires_approval') waiting.set(conversation, run)
    const isExit =
      event.type === 'approval-answered' || (event.type === 'turn-ended' && event.stopReason === 'cancelled')
    if (isExit && waiting.get(conversation) === run) waiting.delete(conversation)
    if (!WORK.includes(event.type) || hasWorked.has(run)) continue
    hasWorked.add(run)
    if (inherits.has(run)) continue
    // Runs that go next (an interrupt, a steer that was moved) pass those in the queue, but not each other.
    const queue = `${conversation} ${rank}`
    const before = latest.get(queue)
    if (before && before.number > number) faults.push(`I15 ${run} was sent before ${before.run} and ran after it`)
    latest.set(queue, row)
  }
  return faults
}
