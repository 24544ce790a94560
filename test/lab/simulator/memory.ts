import type { LoggedEvent } from '../../../src/core/event.ts'
import type { RunId } from '../../../src/core/id.ts'
import { isSettled, type Run } from '../../../src/core/run.ts'

/** Responses that clients received; they must still be true at the end. */
export type ClientMemory = {
  accepted: {
    key: string
    runId: RunId
    request: RunId
    text: string
    how: 'opened' | 'steered' | 'repeated'
    interrupted?: RunId
  }[]
  /** Cancels without a response yet. */
  cancelling: Set<RunId>
  cancelled: RunId[]
  answered: { runId: RunId; next: RunId }[]
  /** Waiting runs for which a client sent a valid answer. */
  answering: Set<RunId>
}

export const newClientMemory = (): ClientMemory => ({
  accepted: [],
  cancelling: new Set(),
  cancelled: [],
  answered: [],
  answering: new Set(),
})

type Recorded = ReadonlyMap<RunId, { run: Run; events: LoggedEvent[] }>

/** Compares the responses of clients with the stored data. */
export function memoryFaults({ accepted, cancelled, answered }: ClientMemory, recorded: Recorded): string[] {
  return [
    ...acceptedFaults(accepted, recorded),
    ...cancelled.flatMap((runId) => cancelFaults(runId, recorded)),
    ...answeredFaults(answered, recorded),
  ]
}

function acceptedFaults(accepted: ClientMemory['accepted'], recorded: Recorded): string[] {
  const faults: string[] = []
  const requestOfKey = new Map<string, RunId>()
  for (const { key, runId, request, text, interrupted } of accepted) {
    const found = recorded.get(runId)
    if (interrupted) faults.push(...interruptFaults(interrupted, runId, recorded))
    if (!found) faults.push(`I7 ${runId} was acknowledged and is not stored`)
    else if (!JSON.stringify(found.events).includes(JSON.stringify(text)))
      faults.push(`I7 "${text}" was acknowledged and is not in the log of ${runId}`)
    // The run of a steer changes when it is moved; its request does not.
    const known = requestOfKey.get(key)
    if (known !== undefined && known !== request) faults.push(`I8 the key ${key} opened ${known} and ${request}`)
    requestOfKey.set(key, request)
  }
  return faults
}

/** The run that a client was told its message cancelled has that cancel, and both are in the same conversation. */
function interruptFaults(interrupted: RunId, by: RunId, recorded: Recorded): string[] {
  const found = recorded.get(interrupted)
  const hasCancel = found?.events.some(({ event }) => event.type === 'cancel-requested')
  if (!hasCancel) return [`I20 ${by} interrupted ${interrupted}, which has no cancel`]
  const isSameConversation = found?.run.conversationId === recorded.get(by)?.run.conversationId
  return isSameConversation ? [] : [`I20 ${by} interrupted ${interrupted} of another conversation`]
}

function cancelFaults(runId: RunId, recorded: Recorded): string[] {
  const events = recorded.get(runId)?.events ?? []
  const hasCancel = events.some(({ event }) => event.type === 'cancel-requested')
  const last = events.findLast(({ event }) => event.type === 'turn-ended')?.event
  const isCancelled =
    last?.type === 'turn-ended' && (last.stopReason === 'cancelled' || last.error?.errorType === 'time_limit')
  return hasCancel && !isCancelled ? [`I20 a cancel of ${runId} was accepted and the run was not cancelled`] : []
}

/** A repeated answer returns the run that the first one opened, unless that run failed or was cancelled. */
function answeredFaults(answered: ClientMemory['answered'], recorded: Recorded): string[] {
  return answered.flatMap(({ runId, next }) => {
    if (!recorded.has(next)) return [`I21 the answer to ${runId} was accepted and its run ${next} is not stored`]
    const answer = recorded.get(runId)?.events.find(({ event }) => event.type === 'approval-answered')?.event
    if (answer?.type !== 'approval-answered') return [`I21 the answer to ${runId} was accepted and is not in its log`]
    if (answer.continuedBy === next) return []
    const first = recorded.get(answer.continuedBy)?.run
    const wentWrong = first && isSettled(first) && first.status !== 'completed'
    return wentWrong ? [] : [`I21 the answer to ${runId} opened ${answer.continuedBy} and again ${next}`]
  })
}
