import type { ImagePart } from './image-part.ts'
import type { Json } from './json.ts'

/** What a second execution would mean. `once` is the default: nobody re-runs it without being asked. */
export type Effects = 'none' | 'idempotent' | 'verifiable' | 'once'

/**
 * One call inside an answer. Its guard, its effects and its refusal ride with it: a crash can never separate a call
 * from what decides whether it may run.
 */
export type ToolCall = {
  callId: string
  tool: string
  input: Json
  /** Hash of tool and canonical input; an approval is bound to it. */
  digest: string
  needsApproval: boolean
  /** Why this very input does, in words for whoever is asked. */
  askedBecause?: string
  effects: Effects
  parallel: boolean
  /** The vendor's proof that the call is its own, replayed as it came. */
  signature?: string
  /** Why this call can never run (unknown tool, bad arguments), in words for the model. */
  refusal?: string
}

export type ToolOutcome = {
  callId: string
  status: 'success' | 'error' | 'denied' | 'unknown'
  output: string
  images?: ImagePart[]
  /** Where the whole output lies when it was over the tool's limit. */
  spill?: string
}

/** A person's word on one open call, or the result a client computed itself. */
export type Decision =
  | { callId: string; verdict: 'approve'; digest: string }
  | { callId: string; verdict: 'deny'; reason?: string }
  | { callId: string; verdict: 'result'; status: 'success' | 'error'; output: string; images?: ImagePart[] }

/** Why a call was settled without its tool having answered. */
export type Settlement =
  | 'cancelled-before-start'
  | 'cancelled-while-running'
  | 'expired'
  | 'ended-before-start'
  | 'lost'
  | 'unattended'

/** "Denied" would be a lie for a call that started, so the texts differ. */
const SETTLEMENTS: Record<Settlement, { status: ToolOutcome['status']; output: string }> = {
  'cancelled-before-start': {
    status: 'denied',
    output: 'Denied: the run was cancelled before this call started. It did not run.',
  },
  'cancelled-while-running': {
    status: 'unknown',
    output: 'The run was cancelled while this call was running. It may or may not have taken effect.',
  },
  expired: { status: 'denied', output: 'Denied: nobody answered the approval request in time. It did not run.' },
  'ended-before-start': { status: 'denied', output: 'Denied: the run ended before this call started. It did not run.' },
  lost: {
    status: 'unknown',
    output: 'The process stopped while this ran. It may or may not have taken effect. Check before repeating.',
  },
  unattended: {
    status: 'denied',
    output: 'Denied: this call needs the approval of a person and the run is unattended. It did not run.',
  },
}

export const settle = (callId: string, cause: Settlement): ToolOutcome => ({ callId, ...SETTLEMENTS[cause] })

export function settleDenied(callId: string, reason: string | undefined): ToolOutcome {
  const output = `Denied: a person declined this call.${reason ? ` Reason: ${reason}` : ''} It did not run.`
  return { callId, status: 'denied', output }
}
