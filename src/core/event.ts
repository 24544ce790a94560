import type { Cooldown, CredentialId } from './credential.ts'
import type { Failure } from './failure.ts'
import type { MessageId, RunId, StepId } from './id.ts'
import type { AnswerPart, Input } from './message.ts'
import type { Principal } from './people.ts'
import type { Remedy } from './recovery.ts'
import type { RunError, RunOfItsOwn, RunSettings, StopReason } from './run.ts'
import type { ModelNotes, NoteKind } from './target.ts'
import type { Decision, ToolCall, ToolOutcome } from './tool-call.ts'
import type { ToolWrite } from './tool-write.ts'

/** What a model request is for: an answer, or the summary that frees context for one. */
export type Purpose = 'answer' | 'summary'

export type Usage = {
  /** The whole prompt, including tokens read from and written to the cache. */
  promptTokens: number
  completionTokens: number
  cachedTokens?: number
  cacheWriteTokens?: number
  reasoningTokens?: number
}

/** Why the model stopped. `length`: the output limit cut it off. */
export type Finish = 'stop' | 'tool-calls' | 'length'

/** The answer whose calls a run takes over from the run that waited for their approval. */
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
 * Every event of a turn: one union, one log, one fold. This is a storage format; a change that breaks reading old logs
 * needs a new `v`.
 */
export type TurnEvent =
  | {
      type: 'input-accepted'
      v: 1
      inputs: Input[]
      settings: RunSettings
      continues?: Continuation
      /** Who sent the inputs of this turn, those before an approval included. Absent in older logs. */
      askedBy?: Principal[]
    }
  /** `otherwise`: absent in logs of versions that kept unread steers with the run they joined. */
  | { type: 'input-steered'; v: 1; inputs: Input[]; otherwise?: RunOfItsOwn; askedBy?: Principal[] }
  | {
      type: 'attempt-failed'
      v: 1
      target: number
      failure: Failure
      remedy: Remedy | 'give-up'
      /** Clock time before which the next attempt does not start. */
      retryAt: number
      /** Absent: `answer`. */
      purpose?: Purpose
      /** The credential the request was made with. */
      credentialId?: CredentialId
      /** The values of the remedy. */
      waitMs?: number
      nextTarget?: number
      outputCap?: number
      window?: number
      /** Text of this attempt that the next one continues. */
      kept?: { answerId: MessageId; content: AnswerPart[]; streamedTo: number }
      /** Usage of the failed attempt, if known. */
      usage?: Usage
      /** Written with this event: see `Cooldown`. */
      cooldown?: Cooldown
      /** What earlier turns had revealed, and the request obeyed. */
      notesApplied?: NoteKind[]
      /** Settings that were not sent to the model, each with the reason. */
      settingsLeftOut?: string[]
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
      /** How many of the pending inputs were part of the request. */
      inputsRead: number
      /** The number of the last chunk that streamed it; 0 if it was not streamed. */
      streamedTo: number
      /** It continues kept text: `content` is only the rest. */
      isRest?: true
      credentialId?: CredentialId
      /** The credential had a stored cooldown, which this success clears. */
      clearsCooldown?: true
      /** What earlier failed attempts revealed about the model. */
      notes?: ModelNotes
      /** What earlier turns had revealed, and the request obeyed. */
      notesApplied?: NoteKind[]
      /** Settings that were not sent to the model, each with the reason. */
      settingsLeftOut?: string[]
      /** The request did not fit the window of the model: parts of it were left out of the copy that was sent. */
      wasCut?: true
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
      /** The message that holds the summary, and the positions it replaces. */
      summaryId: MessageId
      text: string
      replaces: { from: number; to: number }
      /** The first message the model still sees unsummarized. */
      contextStart: number
      target: number
      usage: Usage
      tokensBefore: number
      tokensAfter: number
      /** Of a reset: the replaced messages also leave the lists. */
      clears?: true
      /** Of the end of a session: the message that says so in the history. */
      notice?: string
      /** Made for a fallback with a smaller window: not stored, and shown in this turn only. See `NarrowedView`. */
      forTurn?: { hides: number }
      /** What earlier failed attempts revealed about the model that wrote it. */
      notes?: ModelNotes
    }
  /** A summary that needs several requests: the text so far covers the messages up to and including `through`. */
  | { type: 'summary-extended'; v: 1; text: string; through: number; target: number; usage: Usage }
  | { type: 'tool-started'; v: 1; callId: string; fence: number }
  /** The store performs `writes` in the transaction of this event. */
  | { type: 'tool-ended'; v: 1; outcome: ToolOutcome; writes?: ToolWrite[] }
  | {
      type: 'approval-answered'
      v: 1
      decisions: Decision[]
      responseId: MessageId
      continuedBy: RunId
      /** Absent in older logs. */
      by?: Principal
    }
  | { type: 'cancel-requested'; v: 1; cause: CancelCause; responseId?: MessageId; by?: Principal }
  | { type: 'worker-lost'; v: 1; fence: number }
  | { type: 'fault-met'; v: 1; detail: string }
  | { type: 'turn-ended'; v: 1; stopReason: StopReason; error?: RunError }

export type EventType = TurnEvent['type']

/** An event at its position in the log. `seq` is dense from 1 in each run. */
export type LoggedEvent = { seq: number; at: number; event: TurnEvent }
