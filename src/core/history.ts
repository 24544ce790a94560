import type { AssistantBody, MessageBody, ToolBody } from './message.ts'
import { settle } from './tool-call.ts'

/**
 * The messages as a model request may contain them: every call is directly followed by its results, without approvals
 * and empty answers. Committed conversations already satisfy this when a run settles; the repair is for imports and
 * for rows written by other programs. It is idempotent.
 */
export function toModelHistory(bodies: readonly MessageBody[]): MessageBody[] {
  const shown: MessageBody[] = []
  let open: AssistantBody | undefined
  // A summary is stored after the messages that stay in view, but comes first in the request; only the newest is used.
  const summary = bodies.findLast((body) => body.role === 'summary')
  if (summary) shown.push(summary)
  const close = () => {
    if (open) shown.push({ role: 'tool', outcomes: open.calls.map((call) => settle(call.callId, 'lost')) })
    open = undefined
  }
  for (const body of bodies) {
    switch (body.role) {
      case 'approval':
        continue
      case 'tool': {
        const results = open && resultsFor(open, body)
        if (results) shown.push(results)
        open = undefined
        continue
      }
      case 'assistant':
        close()
        if (body.content.length === 0 && body.calls.length === 0) continue
        shown.push(body)
        open = body.calls.length > 0 ? body : undefined
        continue
      case 'summary':
        continue
      case 'user':
      case 'system':
        close()
        shown.push(body)
        continue
    }
  }
  close()
  return shown
}

/** One result per call, in call order; missing results become unknown, results without a call are dropped. */
function resultsFor(answer: AssistantBody, body: ToolBody): ToolBody {
  const isComplete =
    body.outcomes.length === answer.calls.length &&
    body.outcomes.every((outcome, index) => outcome.callId === answer.calls[index]!.callId)
  if (isComplete) return body
  const outcomes = answer.calls.map(
    (call) => body.outcomes.find((outcome) => outcome.callId === call.callId) ?? settle(call.callId, 'lost'),
  )
  return { role: 'tool', outcomes }
}

/** The number of leading messages before the trailing calls and approvals that have no results yet. */
export function closedLength(bodies: readonly MessageBody[]): number {
  const isOpen = (body: MessageBody) => body.role === 'approval' || (body.role === 'assistant' && body.calls.length > 0)
  return bodies.findLastIndex((body) => !isOpen(body)) + 1
}

/** Why providers would reject this history, as sentences; empty for the output of `toModelHistory`. */
export function historyFaults(bodies: readonly MessageBody[]): string[] {
  const faults: string[] = []
  let open: string[] = []
  for (const [index, body] of bodies.entries()) {
    if (body.role === 'tool') {
      const given = body.outcomes.map((outcome) => outcome.callId)
      if (given.join() !== open.join())
        faults.push(`message ${index}: results [${given}] do not answer calls [${open}]`)
      open = []
      continue
    }
    if (open.length > 0) faults.push(`message ${index}: calls [${open}] have no results before it`)
    open = body.role === 'assistant' ? body.calls.map((call) => call.callId) : []
    if (body.role === 'assistant' && body.content.length === 0 && open.length === 0)
      faults.push(`message ${index}: the answer is empty`)
  }
  if (open.length > 0) faults.push(`the end: calls [${open}] have no results`)
  return faults
}
