import type { ImagePart } from './image-part.ts'
import type { Json } from './json.ts'

/** What a second execution would do. `once` is the default: such a call is never repeated automatically. */
export type Effects = 'none' | 'idempotent' | 'verifiable' | 'once'

/**
 * One call inside an answer. It carries its approval requirement, effects and refusal, so a crash cannot separate a
 * call from the data that decides whether it may run.
 */
export type ToolCall = {
  callId: string
  tool: string
  input: Json
  /** Hash of tool and canonical input; an approval is bound to it. */
  digest: string
  needsApproval: boolean
  /** Why this input needs approval, as a text for the person who decides. */
  askedBecause?: string
  effects: Effects
  parallel: boolean
  /** Says its argument `message` to the user: clients see an assistant message in its place. */
  isSpeech?: true
  /** Hash of the source that runs, of a tool that was brought as source. */
  sourceHash?: string
  /** The vendor's signature of the call, sent back unchanged. */
  signature?: string
  /** Why this call can never run (unknown tool, bad arguments), as a text for the model. */
  refusal?: string
}

export type ToolOutcome = {
  callId: string
  status: 'success' | 'error' | 'denied' | 'unknown'
  output: string
  images?: ImagePart[]
  /** What the tool printed, which models do not see. */
  stdout?: string
  stderr?: string
  /** The file with the whole output, if it exceeded the tool's limit. */
  spill?: string
}

/** A person's decision on one open call, or the result a client computed itself. */
export type Decision =
  | { callId: string; verdict: 'approve'; digest: string }
  | { callId: string; verdict: 'deny'; reason?: string }
  | { callId: string; verdict: 'result'; status: 'success' | 'error'; output: string; images?: ImagePart[] }

/** Why a call was settled without a result from its tool. */
export type Settlement =
  | 'cancelled-before-start'
  | 'cancelled-while-running'
  | 'expired'
  | 'ended-before-start'
  | 'lost'
  | 'unattended'

/** A call that started is never reported as denied: it may have taken effect. */
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
  const output = `Denied: a person declined this call.${reason ? ` Reason: ${asSentence(reason)}` : ''} It did not run.`
  return { callId, status: 'denied', output }
}

const asSentence = (text: string): string => (/[.!?…]$/u.test(text) ? text : `${text}.`)
