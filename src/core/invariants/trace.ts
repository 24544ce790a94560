import type { LoggedEvent, TurnEvent } from '../event.ts'
import { apply, newTurn, type Turn } from '../turn.ts'
import type { RunRecord } from './record.ts'

/** A run's log with the turn before each event; built once and read by every invariant. */
export type RunTrace = RunRecord & {
  accepted: Extract<TurnEvent, { type: 'input-accepted' }>
  /** Everything after the accepted input. */
  moments: TracedEvent[]
  final: Turn
}

type TracedEvent = LoggedEvent & { before: Turn }

/** Undefined: the log does not begin with `input-accepted`, so nothing else can be checked. */
export function traceRun(record: RunRecord): RunTrace | undefined {
  const accepted = record.events[0]?.event
  if (accepted?.type !== 'input-accepted') return undefined
  const moments: TracedEvent[] = []
  let turn = newTurn(accepted)
  for (let index = 1; index < record.events.length; index++) {
    const logged = record.events[index]!
    moments.push({ ...logged, before: turn })
    turn = apply(turn, logged.event)
  }
  return { ...record, accepted, moments, final: turn }
}

/** The faults at each event of the log, prefixed with the event's number. */
export const faultsByEvent = (
  trace: RunTrace,
  fault: (event: TurnEvent, before: Turn) => string | undefined,
): string[] =>
  trace.moments.flatMap(({ seq, event, before }) => {
    const found = fault(event, before)
    return found === undefined ? [] : [`event ${seq} (${event.type}): ${found}`]
  })
