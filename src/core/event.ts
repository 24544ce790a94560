import type { Failure, RunError } from './failure.ts'
import type { MessageId, RunId, StepId } from './id.ts'
import type { AnswerPart, Input } from './message.ts'
import type { Remedy } from './recovery.ts'
import type { RunSettings, StopReason } from './run.ts'
import type { Decision, ToolCall, ToolOutcome } from './tool-call.ts'

export type Usage = {
  /** All of the prompt, what came from the cache and what was written to it included. */
  promptTokens: number
  completionTokens: number
  cachedTokens?: number
  cacheWriteTokens?: number
  reasoningTokens?: number
}

/** Why the model stopped talking. `length` means it was cut off by its output limit. */
export type Finish = 'stop' | 'tool-calls' | 'length'

/** The answer whose calls a run inherits from the run that waited for their approval. */
export type Continuation = {
  runId: RunId
  stepId: StepId
  answerId: MessageId
  resultsId: MessageId
  calls: ToolCall[]
  decisions: Decision[]
}

export type CancelCause = 'person' | 'interrupt' | 'expiry' | 'time-limit'

/**
 * Everything a turn can durably say: one union, one log, one fold. This is a storage format; a change that old logs
 * cannot be read with needs a new `v`.
 */
export type TurnEvent =
  | { type: 'input-accepted'; v: 1; inputs: Input[]; settings: RunSettings; continues?: Continuation }
  | { type: 'input-steered'; v: 1; inputs: Input[] }
  | {
      type: 'attempt-failed'
      v: 1
      target: number
      failure: Failure
      remedy: Remedy | 'give-up'
      /** Clock time before which the next attempt does not start. */
      retryAt: number
    }
  | {
      type: 'answer-received'
      v: 1
      stepId: StepId
      answerId: MessageId
      /** The message that will hold the results of this answer's calls. */
      resultsId: MessageId
      target: number
      content: AnswerPart[]
      calls: ToolCall[]
      finish: Finish
      usage: Usage
      /** How many of the pending inputs this answer had read. */
      inputsRead: number
      /** The number of the last chunk that streamed it; 0 when it was not streamed. */
      streamedTo: number
    }
  | {
      type: 'answer-cut'
      v: 1
      stepId: StepId
      answerId: MessageId
      target: number
      content: AnswerPart[]
      inputsRead: number
      streamedTo: number
    }
  | { type: 'tool-started'; v: 1; callId: string; fence: number }
  | { type: 'tool-ended'; v: 1; outcome: ToolOutcome }
  | { type: 'approval-answered'; v: 1; decisions: Decision[]; responseId: MessageId; continuedBy: RunId }
  | { type: 'cancel-requested'; v: 1; cause: CancelCause; responseId?: MessageId }
  | { type: 'worker-lost'; v: 1; fence: number }
  | { type: 'fault-met'; v: 1; detail: string }
  | { type: 'turn-ended'; v: 1; stopReason: StopReason; error?: RunError }

export type EventType = TurnEvent['type']

/** An event in its place. `seq` is dense from 1 in each run. */
export type LoggedEvent = { seq: number; at: number; event: TurnEvent }
