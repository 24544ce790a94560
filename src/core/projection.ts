import type { Cooldown, CredentialId } from './credential.ts'
import { defined } from './defined.ts'
import type { TurnEvent, Usage } from './event.ts'
import { isSilence } from './heartbeat.ts'
import type { MessageId, RunId, StepId } from './id.ts'
import {
  type AnswerPart,
  type Input,
  inputBody,
  joinContent,
  type MessageBody,
  type NewMessage,
  summaryBody,
  textOf,
} from './message.ts'
import { type ModelNote, modelNotes } from './model-note.ts'
import type { ErrorType, RunError } from './run.ts'
import { type RunOfItsOwn, type RunStatus, STATUS_OF_STOP, type StopReason } from './run.ts'
import { steersToMove } from './steer.ts'
import { type ModelNotes, parseTarget } from './target.ts'
import type { Decision, ToolCall } from './tool-call.ts'
import type { ToolWrite } from './tool-write.ts'
import { apply, openCalls, type Turn, targetsOf } from './turn.ts'

type StepStatus = 'success' | 'failed' | 'cancelled'

export type NewStep = {
  id: StepId
  runId: RunId
  status: StepStatus
  /** `provider/model` that answered. */
  target: string
  usage: Usage
  stopReason?: StopReason
  error?: RunError & { errorType: ErrorType }
  createdAt: number
}

/** Changes to the run row; absent fields stay as they are. */
export type RunChange = {
  status?: RunStatus
  waiting?: boolean
  stopReason?: StopReason
  error?: RunError
  completedAt?: number
  expiresAt?: number | null
  releaseLease?: true
  deaths?: 0
  silent?: boolean
}

/** Row changes that follow from an event, written only in its transaction. */
export type Change =
  | { type: 'add-message'; message: NewMessage }
  | { type: 'add-step'; step: NewStep }
  | { type: 'change-run'; change: RunChange }
  /** Messages before this position are no longer shown to the model. */
  | { type: 'move-context'; contextStart: number }
  /** Messages before this position are no longer in lists. */
  | { type: 'clear-list'; listStart: number }
  /** A steered message that the turn did not read. `event` is the first of the run. */
  | { type: 'open-run'; run: Omit<RunOfItsOwn, 'settings'>; event: TurnEvent; at: number }
  | { type: 'set-cooldown'; cooldown: Cooldown }
  | { type: 'clear-cooldown'; scope: Cooldown['scope']; key: string }
  | { type: 'note-model'; note: ModelNote }
  /** Calls that need approval. Their ids never name another such call in this conversation. */
  | { type: 'ask-about'; callIds: string[] }
  /** A write requested by a tool. If the row has changed since, the whole commit is rejected. */
  | { type: 'carry-out'; write: ToolWrite; at: number }

/** An event with the row changes that follow from it. */
export type ProjectedEvent = { event: TurnEvent; at: number; changes: Change[] }

type ProjectionContext = {
  runId: RunId
  at: number
  /** False for a run that never started: another run may be in the middle of a step, so this one adds no messages. */
  holdsConversation: boolean
}

/** The row changes of an event. `turn` is the turn before the event. */
export function project(turn: Turn, event: TurnEvent, context: ProjectionContext): Change[] {
  switch (event.type) {
    case 'answer-received': {
      const { stepId, answerId, calls } = event
      const step = newStep(turn, event, context)
      const content = wholeContent(turn, event)
      return [
        ...inputMessages(turn.pending.slice(0, event.inputsRead), context),
        { type: 'add-step', step },
        addMessage(answerId, { role: 'assistant', content, calls }, { ...context, stepId }),
        ...questions(calls),
        ...silenceChange(turn, event),
        ...credentialAndModelChanges(turn, event, context),
      ]
    }
    case 'answer-cut': {
      const { stepId, answerId } = event
      const content = wholeContent(turn, event)
      const usage = { promptTokens: 0, completionTokens: 0 }
      const step = { ...newStep(turn, { ...event, usage }, context), status: 'cancelled' as const }
      return [
        ...inputMessages(turn.pending.slice(0, event.inputsRead), context),
        { type: 'add-step', step },
        addMessage(answerId, { role: 'assistant', content, calls: [], cut: true }, { ...context, stepId }),
      ]
    }
    case 'tool-ended':
      return [
        ...(event.writes ?? []).map((write): Change => ({ type: 'carry-out', write, at: context.at })),
        ...resultsMessage(turn, event, context),
        ...forgivenDeaths(turn, event),
      ]
    case 'approval-answered':
      return [
        addMessage(event.responseId, { role: 'approval', decisions: event.decisions }, stepContext(turn, context)),
        { type: 'change-run', change: { waiting: false, expiresAt: null } },
      ]
    case 'cancel-requested': {
      if (turn.phase !== 'waiting' || !event.responseId) return []
      const decisions = denials(turn, event.cause === 'expiry' ? 'the approval expired' : 'the run was cancelled')
      return [addMessage(event.responseId, { role: 'approval', decisions }, stepContext(turn, context))]
    }
    case 'turn-ended':
      return endChanges(turn, event, context)
    case 'attempt-failed':
      return event.cooldown ? [{ type: 'set-cooldown', cooldown: event.cooldown }] : []
    case 'context-compacted': {
      const { summaryId, text, contextStart, target } = event
      const learned = noteChanges(event, targetsOf(turn.settings, 'summary')[target], context)
      // Shown in this turn only: the stored view stays as it is.
      if (event.forTurn) return learned
      const reset: Change = { type: 'move-context', contextStart }
      if (event.notice !== undefined) return [addMessage(summaryId, noticeBody(event.notice), context), reset]
      if (event.clears) return [reset, { type: 'clear-list', listStart: contextStart }]
      // A reset has no summary.
      if (text === '') return [reset]
      return [addMessage(summaryId, summaryBody(event), context), reset, ...learned]
    }
    case 'summary-extended':
    case 'input-accepted':
    case 'input-steered':
    case 'tool-started':
    case 'worker-lost':
    case 'fault-met':
      return []
  }
}

function questions(calls: readonly ToolCall[]): Change[] {
  const callIds = calls.filter((call) => call.needsApproval && !call.refusal).map(({ callId }) => callId)
  return callIds.length > 0 ? [{ type: 'ask-about', callIds }] : []
}

function silenceChange(turn: Turn, event: Extract<TurnEvent, { type: 'answer-received' }>): Change[] {
  const silent = findSilence(turn, event)
  return silent === undefined ? [] : [{ type: 'change-run', change: { silent } }]
}

/**
 * Of a heartbeat: whether this answer says nothing. The last one decides. A turn that a person steered a message into is
 * never silent.
 */
export function findSilence(turn: Turn, event: Extract<TurnEvent, { type: 'answer-received' }>): boolean | undefined {
  const { settings, isJoined } = turn
  if (settings.silence === undefined) return undefined
  return !isJoined && event.calls.length === 0 && isSilence(textOf(wholeContent(turn, event)), settings.silence)
}

/** An answer that continues kept text becomes one message with it. */
const wholeContent = (turn: Turn, { isRest, content }: { isRest?: true; content: AnswerPart[] }): AnswerPart[] =>
  isRest ? joinContent(turn.attempts.answer.kept?.content ?? [], content) : content

/** A good answer clears its credential's cooldown and stores what was learned about the model. */
function credentialAndModelChanges(
  turn: Turn,
  event: Extract<TurnEvent, { type: 'answer-received' }>,
  context: ProjectionContext,
): Change[] {
  const { credentialId, clearsCooldown, target } = event
  return [
    ...(credentialId && clearsCooldown
      ? [{ type: 'clear-cooldown' as const, scope: 'credential' as const, key: credentialId }]
      : []),
    ...noteChanges(event, turn.settings.targets[target], context),
  ]
}

function noteChanges(
  { notes, credentialId }: { notes?: ModelNotes; credentialId?: CredentialId },
  handle: string | undefined,
  { runId, at }: ProjectionContext,
): Change[] {
  const model = parseTarget(handle ?? '')
  if (!notes || !model) return []
  const learned = modelNotes({ ...model, notes, runId, at, ...defined({ credentialId }) })
  return learned.map((note) => ({ type: 'note-model', note }))
}

function newStep(
  turn: Turn,
  { stepId, target, usage }: { stepId: StepId; target: number; usage: Usage },
  { runId, at }: ProjectionContext,
): NewStep {
  return { id: stepId, runId, status: 'success', target: turn.settings.targets[target]!, usage, createdAt: at }
}

/** The results of a step become one message, in call order, when its last call is settled. */
function resultsMessage(
  turn: Turn,
  { outcome }: Extract<TurnEvent, { type: 'tool-ended' }>,
  context: ProjectionContext,
): Change[] {
  const step = turn.step
  if (!step || openCalls(turn).some((call) => call.callId !== outcome.callId)) return []
  const outcomes = step.calls.map((call) => (call.callId === outcome.callId ? outcome : call.outcome!))
  return [addMessage(step.resultsId, { role: 'tool', outcomes }, stepContext(turn, context))]
}

/** Keeps the row's count of deaths equal to the fold's. */
function forgivenDeaths(turn: Turn, event: TurnEvent): Change[] {
  const isForgiven = turn.deaths > 0 && apply(turn, event).deaths === 0
  return isForgiven ? [{ type: 'change-run', change: { deaths: 0 } }] : []
}

function endChanges(
  turn: Turn,
  { stopReason, error }: Extract<TurnEvent, { type: 'turn-ended' }>,
  context: ProjectionContext,
): Change[] {
  const status = STATUS_OF_STOP[stopReason]
  const waiting = stopReason === 'requires_approval'
  const change: RunChange = {
    status,
    waiting,
    stopReason,
    completedAt: context.at,
    expiresAt: waiting ? context.at + turn.settings.approvalTtlMs : null,
    releaseLease: true,
    ...defined({ error }),
  }
  // A failed run does not store its unread input: the conversation is unchanged and the client can send it again. A
  // waiting run passes it on: a message between open calls and their results would make the history invalid.
  const keepsInput = status === 'failed' || waiting || !context.holdsConversation
  const moved = waiting ? [] : steersToMove(turn.steers, turn.cancel?.cause)
  const isMoved = (input: Input) => moved.some(({ inputs }) => inputs.includes(input))
  const kept = turn.pending.filter((input) => !isMoved(input))
  const unread = keepsInput ? [] : inputMessages(kept, context)
  const opened = moved.map(({ inputs, askedBy, otherwise: { settings, ...run } }): Change => {
    const event: TurnEvent = { type: 'input-accepted', v: 1, inputs, settings, ...defined({ askedBy }) }
    return { type: 'open-run', run, event, at: context.at }
  })
  return [...unread, { type: 'change-run', change }, ...opened]
}

function denials(turn: Turn, reason: string): Decision[] {
  const guarded = openCalls(turn).filter((call) => call.needsApproval)
  return guarded.map((call) => ({ callId: call.callId, verdict: 'deny', reason }))
}

type MessageContext = ProjectionContext & { stepId?: StepId }

const stepContext = (turn: Turn, context: ProjectionContext): MessageContext =>
  turn.step ? { ...context, stepId: turn.step.stepId } : context

function addMessage(id: MessageId, body: MessageBody, { runId, stepId, at }: MessageContext): Change {
  return {
    type: 'add-message',
    message: { id, runId, ...defined({ stepId: stepId || undefined }), body, createdAt: at },
  }
}

const noticeBody = (text: string): MessageBody => ({ role: 'system', content: [{ type: 'text', text }] })

const inputMessages = (inputs: Input[], context: ProjectionContext): Change[] =>
  inputs.map((input) => addMessage(input.messageId, inputBody(input), context))
