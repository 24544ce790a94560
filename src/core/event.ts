import type { Cooldown, CredentialId } from './credential.ts'
import type { Failure } from './failure.ts'
import type { MessageId, RunId, StepId } from './id.ts'
import type { AnswerPart, Input } from './message.ts'
import type { Remedy } from './recovery.ts'
import type { RunError, RunSettings, StopReason } from './run.ts'
import type { ModelNotes } from './target.ts'
import type { Decision, ToolCall, ToolOutcome } from './tool-call.ts'
import type { ToolWrite } from './tool-write.ts'

/** What a model is asked for: its answer, or the summary that makes room for one. */
export type Purpose = 'answer' | 'summary'

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
      /** What it was asked for; an answer where nothing is said. */
      purpose?: Purpose
      /** The credential the request was made with. */
      credentialId?: CredentialId
      /** What the remedy is made of. */
      waitMs?: number
      nextTarget?: number
      outputCap?: number
      window?: number
      /** What this attempt added to a text that goes on. */
      kept?: { answerId: MessageId; content: AnswerPart[]; streamedTo: number }
      /** What the failed attempt cost, where it is known. */
      usage?: Usage
      /** Written with this event: see `Cooldown`. */
      cooldown?: Cooldown
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
      /** It goes on where kept text was cut off: `content` is the rest. */
      isRest?: true
      credentialId?: CredentialId
      /** The credential had a cooldown on record, which this success ends. */
      clearsCooldown?: true
      /** What the way here taught about the model. */
      notes?: ModelNotes
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
      isRest?: true
    }
  | {
      type: 'context-compacted'
      v: 1
      /** The message that holds the summary, and what it stands for. */
      summaryId: MessageId
      text: string
      replaces: { from: number; to: number }
      /** The first message the model still sees as it is. */
      contextStart: number
      target: number
      usage: Usage
      tokensBefore: number
      tokensAfter: number
    }
  | { type: 'tool-started'; v: 1; callId: string; fence: number }
  /** `writes` are carried out in the transaction of this event. */
  | { type: 'tool-ended'; v: 1; outcome: ToolOutcome; writes?: ToolWrite[] }
  | { type: 'approval-answered'; v: 1; decisions: Decision[]; responseId: MessageId; continuedBy: RunId }
  | { type: 'cancel-requested'; v: 1; cause: CancelCause; responseId?: MessageId }
  | { type: 'worker-lost'; v: 1; fence: number }
  | { type: 'fault-met'; v: 1; detail: string }
  | { type: 'turn-ended'; v: 1; stopReason: StopReason; error?: RunError }

export type EventType = TurnEvent['type']

/** An event in its place. `seq` is dense from 1 in each run. */
export type LoggedEvent = { seq: number; at: number; event: TurnEvent }
