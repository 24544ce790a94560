import type { DatabaseSync } from 'node:sqlite'
import type { TurnEvent } from '../../../src/core/event.ts'

type Row = { run: string; number: number; conversation: string; body: string }

const WORK: readonly TurnEvent['type'][] = ['answer-received', 'answer-cut', 'attempt-failed', 'tool-started']

/** Checks the order of all events of all runs: faults that only show between runs of a conversation. */
export function orderFaults(database: DatabaseSync): string[] {
  const rows = database
    .prepare(
      `select runs.id as run, runs.number as number, runs.conversation_id as conversation, body
       from events join runs on runs.number = events.run_number order by events.rowid`,
    )
    .all() as Row[]
  const faults: string[] = []
  const waiting = new Map<string, string>()
  const latest = new Map<string, Row>()
  const inherits = new Set<string>()
  const hasWorked = new Set<string>()
  for (const row of rows) {
    const { run, number, conversation } = row
    const event = JSON.parse(row.body) as TurnEvent
    if (event.type === 'input-accepted' && event.continues) inherits.add(run)
    if (event.type === 'input-accepted' && !event.continues && waiting.has(conversation))
      faults.push(`I10 ${run} was accepted although ${waiting.get(conversation)} waits for approval`)
    if (event.type === 'turn-ended' && event.stopReason === 'requires_approval') waiting.set(conversation, run)
    const isExit =
      event.type === 'approval-answered' || (event.type === 'turn-ended' && event.stopReason === 'cancelled')
    if (isExit && waiting.get(conversation) === run) waiting.delete(conversation)
    if (!WORK.includes(event.type) || hasWorked.has(run)) continue
    hasWorked.add(run)
    if (inherits.has(run)) continue
    const before = latest.get(conversation)
    if (before && before.number > number) faults.push(`I15 ${run} was sent before ${before.run} and ran after it`)
    latest.set(conversation, row)
  }
  return faults
}
