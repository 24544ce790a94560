import { defined } from './defined.ts'
import { checkRun } from './invariants/all.ts'
import { type ExpectedRow, expectedMessages, expectedRow, ROW_FIELDS } from './invariants/expected-row.ts'
import { isSame, showValue } from './invariants/log.ts'
import type { RunRecord } from './invariants/record.ts'
import { type RunTrace, traceRun } from './invariants/trace.ts'
import type { NewMessage } from './message.ts'

/** The repaired row, and each difference to the current one as a text. */
export type RowRepair = { row: ExpectedRow; nextSeq: number; differences: string[] }

/**
 * How to make the row match the log. Undefined: the row is correct, the log is incomplete, or the run would still
 * violate an invariant; then the correct state is unknown and the row is left alone.
 */
export function planRowRepair(record: RunRecord): RowRepair | undefined {
  const trace = traceCompleteLog(record)
  if (!trace) return undefined
  const { run, events } = record
  const row = expectedRow(trace)
  const nextSeq = events.length + 1
  const fields = Object.keys(ROW_FIELDS) as (keyof ExpectedRow)[]
  const wrong = fields.filter((field) => !isSame(run[field], row[field]))
  const differences = wrong.map(
    (field) => `${ROW_FIELDS[field]} was ${showValue(run[field])} and is now ${showValue(row[field])}`,
  )
  if (run.nextSeq !== nextSeq) differences.push(`next_seq was ${run.nextSeq} and is now ${nextSeq}`)
  const hasStaleLease = run.leaseOwner !== undefined && row.status !== 'running'
  if (hasStaleLease) differences.push(`the lease of ${run.leaseOwner} was removed`)
  if (differences.length === 0) return undefined

  const { stopReason: _, error: __, completedAt: ___, expiresAt: ____, leaseOwner, ...kept } = run
  const repaired = {
    ...kept,
    ...row,
    nextSeq,
    ...defined({ leaseOwner: leaseOwner && !hasStaleLease ? leaseOwner : undefined }),
  }
  const { conversationId } = run
  const messages = expectedMessages(trace).map((message, position) => ({ ...message, conversationId, position }))
  return checkRun({ run: repaired, events, messages }).length === 0 ? { row, nextSeq, differences } : undefined
}

/** A message that is in the log but not in the table, with the positions of its neighbors in the run. */
export type LostMessage = { message: NewMessage; after?: number; before?: number }

export function lostMessages(record: RunRecord): LostMessage[] {
  const trace = traceCompleteLog(record)
  if (!trace) return []
  const positions = new Map(record.messages.map(({ id, position }) => [id, position]))
  const expected = expectedMessages(trace)
  return expected.flatMap((message, index) => {
    if (positions.has(message.id)) return []
    const after = expected.slice(0, index).findLast(({ id }) => positions.has(id))
    const before = expected.slice(index).find(({ id }) => positions.has(id))
    return [
      {
        message,
        ...defined({
          after: after ? positions.get(after.id)! : undefined,
          before: before ? positions.get(before.id)! : undefined,
        }),
      },
    ]
  })
}

/** The position of a lost message. Known only if one message is lost, one position is free, and the order fits. */
export function findRepairPosition(lost: readonly LostMessage[], free: readonly number[]): number | undefined {
  const [one, ...others] = lost
  const [position, ...otherPositions] = free
  if (!one || position === undefined || others.length > 0 || otherPositions.length > 0) return undefined
  const fits = (one.after === undefined || one.after < position) && (one.before === undefined || position < one.before)
  return fits ? position : undefined
}

/** Undefined: events are missing, so the state is unknown. A `next_seq` that is too low hides no events. */
function traceCompleteLog(record: RunRecord): RunTrace | undefined {
  const { run, events, unreadable } = record
  const isComplete = events.every(({ seq }, index) => seq === index + 1) && run.nextSeq <= events.length + 1
  return unreadable === undefined && isComplete ? traceRun(record) : undefined
}
