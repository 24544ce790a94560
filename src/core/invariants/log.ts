import { historyFaults, toModelHistory } from '../history.ts'
import { canonicalJson, type Json } from '../json.ts'
import type { Message, MessageBody, NewMessage } from '../message.ts'
import { isSettled } from '../run.ts'
import { movedSteers } from '../steer.ts'
import { openCalls } from '../turn.ts'
import { type ExpectedRow, expectedMessages, expectedRow, ROW_FIELDS } from './expected-row.ts'
import type { ConversationRecord, Invariant, StoreRecord } from './record.ts'
import { faultsByEvent, type RunTrace } from './trace.ts'

export const callResultBijection: Invariant<RunTrace> = {
  id: 'I1',
  name: 'call-result bijection',
  sentence: 'Every call of a settled run has exactly one result, in call order, in the results message of its step.',
  promise: 'nothing is lost',
  check(trace) {
    const { run, messages, accepted, final } = trace
    const faults: string[] = []
    const calls = new Map<string, string[]>()
    if (accepted.continues) calls.set(accepted.continues.stepId, callIds(accepted.continues.calls))
    for (const { body, stepId, id } of messages) {
      if (body.role === 'assistant' && body.calls.length > 0) calls.set(stepId ?? id, callIds(body.calls))
      if (body.role !== 'tool') continue
      const expected = calls.get(stepId ?? '')
      if (!expected) faults.push(`the results in ${id} belong to no call, or to calls that have results already`)
      else if (callIds(body.outcomes).join() !== expected.join())
        faults.push(`${id} has results for [${callIds(body.outcomes)}], the calls are [${expected}]`)
      calls.delete(stepId ?? '')
    }
    // The open calls of a waiting run pass to the run that continues it; calls of a live run may still be open.
    const isExcused = !isSettled(run) || final.continuedBy !== undefined
    for (const [stepId, open] of calls)
      if (!isExcused || stepId !== final.step?.stepId) faults.push(`the calls [${open}] of ${stepId} have no results`)
    return faults
  },
}

export const providerValid: Invariant<ConversationRecord> = {
  id: 'I2',
  name: 'provider-valid',
  sentence: 'Every provider accepts the history at every commit, and repairing it twice changes nothing.',
  promise: 'nothing is stuck',
  check({ messages, from = 0 }) {
    const bodies = messages.map((message) => message.body)
    const stored = historyFaults(bodies.filter(isForModels)).filter((fault) => !fault.startsWith('the end:'))
    const shown = toModelHistory(bodies)
    const repaired = historyFaults(shown)
    const again = toModelHistory(shown)
    const isStable = again.length === shown.length && again.every((body, index) => isSame(body, shown[index]!))
    return [
      ...stored.map((fault) => (from > 0 ? `after position ${from}: ${fault}` : fault)),
      ...repaired.map((fault) => `after the repair: ${fault}`),
      ...(isStable ? [] : ['repairing the history a second time changes it']),
    ]
  },
}

export const durableBeforeDispatch: Invariant<RunTrace> = {
  id: 'I3',
  name: 'durable before dispatch',
  sentence: 'A tool starts only after the answer that calls it is in the log, and ends at most once.',
  promise: 'nothing is lost',
  check: (trace) =>
    faultsByEvent(trace, (event, { step }) => {
      if (event.type !== 'tool-started' && event.type !== 'tool-ended') return undefined
      const callId = event.type === 'tool-started' ? event.callId : event.outcome.callId
      const call = step?.calls.find((one) => one.callId === callId)
      if (!call) return `no answer before it has the call ${callId}`
      if (call.outcome) return `the call ${callId} had already ended`
      return undefined
    }),
}

export const resultBeforeNext: Invariant<RunTrace> = {
  id: 'I4',
  name: 'result before next',
  sentence:
    'Sequential calls start one by one, each after the result of the previous one; the next answer follows all results.',
  promise: 'nothing is lost',
  check: (trace) =>
    faultsByEvent(trace, (event, before) => {
      const calls = before.step?.calls ?? []
      if (event.type === 'answer-received' || event.type === 'answer-cut') {
        const open = openCalls(before)
        return open.length > 0 ? `the calls [${callIds(open)}] of the previous answer are open` : undefined
      }
      if (event.type !== 'tool-started' || calls.every((call) => call.parallel)) return undefined
      const index = calls.findIndex((call) => call.callId === event.callId)
      const early = calls.slice(0, Math.max(index, 0)).filter((call) => !call.outcome)
      return early.length > 0 ? `${event.callId} started before [${callIds(early)}] ended` : undefined
    }),
}

export const singleTruth: Invariant<RunTrace> = {
  id: 'I5',
  name: 'single truth',
  sentence: 'The run row and its messages match the log exactly.',
  promise: 'nothing is hidden',
  check: (trace) => [...rowFaults(trace), ...messageFaults(trace)],
}

export const denseEvents: Invariant<RunTrace> = {
  id: 'I6',
  name: 'dense order',
  sentence: 'The events of a run are numbered from 1 without gaps or repetitions.',
  promise: 'nothing is lost',
  check({ run, events, messages }) {
    const odd = events.findIndex(({ seq }, index) => seq !== index + 1)
    const misplaced = messages.findIndex(
      (message, index) => index > 0 && message.position <= messages[index - 1]!.position,
    )
    const strays = messages.filter((message) => message.conversationId !== run.conversationId)
    return [
      ...(odd >= 0 ? [`event ${events[odd]!.seq} is number ${odd + 1} in the log`] : []),
      ...(run.nextSeq === events.length + 1 ? [] : [`next_seq is ${run.nextSeq} after ${events.length} events`]),
      ...(misplaced > 0 ? [`${messages[misplaced]!.id} is not after the message before it`] : []),
      ...strays.map((message) => `${message.id} is in another conversation, ${message.conversationId}`),
    ]
  },
}

export const densePositions: Invariant<ConversationRecord> = {
  id: 'I6',
  name: 'dense order',
  sentence: 'The messages of a conversation have the positions 0 to n-1, each once.',
  promise: 'nothing is lost',
  check({ conversation, messages, from = 0, isEnd = true }) {
    const odd = messages.findIndex(({ position }, index) => position !== from + index)
    const { nextPosition, contextStart } = conversation
    const distinct = new Set(messages.map((message) => message.id)).size
    const count = from + messages.length
    return [
      ...(odd >= 0 ? [`message number ${from + odd} has position ${messages[odd]!.position}`] : []),
      ...(isEnd && nextPosition !== count ? [`next_position is ${nextPosition} after ${count} messages`] : []),
      ...(distinct === messages.length ? [] : [`${messages.length - distinct} message ids occur twice`]),
      ...(contextStart <= nextPosition ? [] : [`the context starts at ${contextStart}, after the last message`]),
    ]
  },
}

export const acceptedIsKept: Invariant<RunTrace> = {
  id: 'I7',
  name: 'accepted is kept',
  sentence:
    'Every input of a run that did not fail is stored as a message, or passed to the run that continues it or that it was moved to.',
  promise: 'nothing is lost',
  check({ run, events, messages, final }) {
    // The unread input of a failed run can be sent again; a queued run never changed its conversation.
    if (!isSettled(run) || run.status === 'failed' || run.fence === 0 || final.continuedBy) return []
    const moved = movedSteers(final).flatMap(({ inputs }) => inputs)
    const kept = new Set<string>([...messages.map(({ id }) => id), ...moved.map(({ messageId }) => messageId)])
    const inputs = events.flatMap(({ event }) =>
      event.type === 'input-accepted' || event.type === 'input-steered' ? event.inputs : [],
    )
    return inputs.flatMap(({ messageId }) =>
      kept.has(messageId) ? [] : [`the input ${messageId} is not stored as a message`],
    )
  },
}

export const exactlyOnceIntake: Invariant<StoreRecord> = {
  id: 'I8',
  name: 'exactly-once intake',
  sentence: 'An input is accepted by one run only.',
  promise: 'nothing happens twice',
  check({ runs }) {
    const takenBy = new Map<string, string>()
    const movedTo = new Map(
      runs.flatMap(({ moved = [] }) => moved.flatMap(({ to, inputs }) => inputs.map((one) => [one, to]))),
    )
    return runs.flatMap(({ id, inputs, inherited }) =>
      inputs.flatMap((input) => {
        const first = takenBy.get(input)
        takenBy.set(input, id)
        // Inputs that a waiting run had not read pass to the run that continues it.
        // A steer that was not read passes to the run whose id it reserved.
        return first === undefined || first === inherited?.from || movedTo.get(input) === id
          ? []
          : [`${input} was accepted by ${first} and by ${id}`]
      }),
    )
  },
}

export const steersArrive: Invariant<StoreRecord> = {
  id: 'I29',
  name: 'steers arrive',
  sentence: 'A message that was steered into a turn that ended without reading it has the run whose id it reserved.',
  promise: 'nothing is lost',
  check({ runs }) {
    const byId = new Map(runs.map((run) => [run.id, run]))
    return runs.flatMap(({ id, moved = [] }) =>
      moved.flatMap(({ to, inputs }) => {
        const found = byId.get(to)
        if (!found) return [`${id} ended without reading ${inputs.join(', ')}, and there is no ${to}`]
        const has = inputs.every((input) => found.inputs.includes(input))
        return has ? [] : [`${to} does not have the input ${inputs.join(', ')} that ${id} did not read`]
      }),
    )
  },
}

const callIds = (calls: readonly { callId: string }[]): string[] => calls.map((call) => call.callId)

/** An empty answer (its whole output limit was used for reasoning) is never sent to a model. */
const isForModels = (body: MessageBody): boolean =>
  body.role !== 'approval' && !(body.role === 'assistant' && body.content.length === 0 && body.calls.length === 0)

/** Stored and projected values have their keys in the same order, so the cheap comparison nearly always decides. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (one === undefined || other === undefined) return false
  const [left, right] = [JSON.stringify(one), JSON.stringify(other)]
  return left === right || canonicalJson(JSON.parse(left) as Json) === canonicalJson(JSON.parse(right) as Json)
}

function rowFaults(trace: RunTrace): string[] {
  const row = expectedRow(trace)
  return (Object.keys(ROW_FIELDS) as (keyof ExpectedRow)[]).flatMap((field) => {
    const actual = trace.run[field]
    if (isSame(actual, row[field])) return []
    return [`${ROW_FIELDS[field]} is ${showValue(actual)}, the log says ${showValue(row[field])}`]
  })
}

export const showValue = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value))

function messageFaults(trace: RunTrace): string[] {
  const projected = expectedMessages(trace)
  const { messages } = trace
  const faults: string[] = []
  for (let index = 0; index < Math.max(projected.length, messages.length); index++) {
    const expected = projected[index]
    const actual = messages[index]
    if (expected?.id !== actual?.id) {
      faults.push(`message ${index} of the run is ${actual?.id ?? 'missing'}, the log says ${expected?.id ?? 'none'}`)
      return faults
    }
    if (expected && actual && !isSameMessage(expected, actual))
      faults.push(`${actual.id} differs from what the log says`)
  }
  return faults
}

const isSameMessage = (expected: NewMessage, actual: Message): boolean =>
  expected.runId === actual.runId &&
  expected.stepId === actual.stepId &&
  expected.createdAt === actual.createdAt &&
  isSame(expected.body, actual.body)
