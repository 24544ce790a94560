import type { AssistantBody, MessageBody, ToolBody } from './message.ts'
import { settle } from './tool-call.ts'

/**
 * The messages a model may be shown: every call is followed at once by the results of its answer, and nothing that is
 * only for people (approvals) or has no content is among them. Committed conversations already hold to this at every
 * settled point; the repair is for imports and for what another program wrote. Repairing twice changes nothing.
 */
export function toModelHistory(bodies: readonly MessageBody[]): MessageBody[] {
  const shown: MessageBody[] = []
  let open: AssistantBody | undefined
  // A summary is stored where it was made, behind what stays in view; it is read first, and only the newest.
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

/** One result per call, in call order; what is missing is unknown, what belongs to no call is left out. */
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

/** How many of these stand on their own: what follows is calls, and what people said to them, without results yet. */
export function closedLength(bodies: readonly MessageBody[]): number {
  const isOpen = (body: MessageBody) => body.role === 'approval' || (body.role === 'assistant' && body.calls.length > 0)
  return bodies.findLastIndex((body) => !isOpen(body)) + 1
}

/** What no provider dialect would accept, as sentences; none for a history made by `toModelHistory`. */
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
      faults.push(`message ${index}: an answer with nothing in it`)
  }
  if (open.length > 0) faults.push(`the end: calls [${open}] have no results`)
  return faults
}
