import type { AdmissionPolicy } from '../../core/admission.ts'
import { type Agent, type Conversation, chainOf } from '../../core/agent.ts'
import { compactionSettingsOf } from '../../core/agent-compaction.ts'
import { defined } from '../../core/defined.ts'
import type { TurnEvent } from '../../core/event.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import { canonicalJson, type Json } from '../../core/json.ts'
import type { Input, InputPart } from '../../core/message.ts'
import {
  type Effort,
  type ModelSettings,
  modelSettingsOf,
  overriddenBy,
  windowLimitOf,
} from '../../core/model-settings.ts'
import { type Principal, principalOf } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { ProjectedEvent } from '../../core/projection.ts'
import { patienceOf } from '../../core/recovery.ts'
import type { ClientTool, RunSettings } from '../../core/run.ts'
import type { TargetHandle } from '../../core/target.ts'
import { exitToolsOf, toolRulesOf } from '../../core/tool-rules.ts'
import { foldTurn, isUndecided, openCalls } from '../../core/turn.ts'
import type { NewRun, OpenedRun, OpenRun, RequestIdentity } from '../../ports/store.ts'
import type { CallbackRequest } from '../../ports/webhook-store.ts'
import { findConversation } from '../conversations/conversations.ts'
import { requireRoomFor } from '../people/storage-quota.ts'
import type { ServiceContext } from '../service-context.ts'
import { keyOf, overQuotaProblem, queueQuotaOf, withTurnQuota } from './turn-quota.ts'

/** Options of one send. */
export type SendOptions = {
  /** What happens when the conversation is busy. Default: the setting of the agent, or `queue`. */
  policy?: AdmissionPolicy
  streamTokens?: boolean
  background?: boolean
  onGuarded?: RunSettings['onGuarded']
  maxSteps?: number
  /** Replaces the agent's model for this run only; the failover chain stays. */
  model?: TargetHandle
  system?: string
  /** Text after the system prompt, for this run only. */
  addendum?: string
  clientTools?: ClientTool[]
  /** Of the agent's tools, those that this run may use. */
  onlyTools?: string[]
  /** Turns reasoning on or off, or sets its effort, for this run only. */
  reasoning?: 'on' | 'off' | Effort
  /** What this request asks of its answers, in place of what agent and conversation say. */
  modelSettings?: ModelSettings
  /** The answer that says nothing; see `core/heartbeat.ts`. */
  silence?: string
  metadata?: Json
  callback?: CallbackRequest
}

type AddressedSend = SendOptions & {
  agent: Agent
  conversationId: ConversationId
  /** The conversation, if it was read already: its settings win over those of the agent. */
  conversation?: Pick<Conversation, 'details'>
  idempotencyKey?: string
}

export type SendMessageRequest = AddressedSend & { content: InputPart[]; otid?: string }

export type NewInput = Omit<Input, 'messageId'>

type SendInputsRequest = AddressedSend & {
  inputs: NewInput[]
  /** How a repeated request is recognized (idempotency), in addition to the otids of its inputs. */
  request?: Pick<RequestIdentity, 'fingerprint' | 'isRetry' | 'windowMs' | 'arrivedAt'>
  /** Who is behind the inputs, if it is not the caller. */
  askedBy?: Principal[]
}

/**
 * `opened`: a new run. `steered`: the message joined the running one. `repeated`: the request was accepted before.
 * `runId` carries the message. `request` is the id of this request, another one than `runId` if it was steered.
 */
export type SendResult = {
  type: 'opened' | 'steered' | 'repeated'
  runId: RunId
  request: RunId
  /** Of an opened run: it waits behind others. */
  isQueued?: boolean
  /** The run that this message cancelled. */
  interrupted?: RunId
}

/** Accepts a message. When this resolves, the message is on disk and its run will end, even after a crash. */
export const sendMessage = (
  { content, otid, ...request }: SendMessageRequest,
  context: ServiceContext,
): Promise<SendResult> =>
  sendInputs({ ...request, inputs: [{ role: 'user', content, ...defined({ otid: otid || undefined }) }] }, context)

/** The same for several messages at once: all or none. */
export async function sendInputs(request: SendInputsRequest, context: ServiceContext): Promise<SendResult> {
  const sent = await withTurnQuota(request.agent.id, context, () => openRun(request, context))
  if (request.callback) context.callbacks.expect(sent.runId, context.organizationId)
  return sent
}

async function openRun(asked: SendInputsRequest, context: ServiceContext): Promise<SendResult> {
  const { engine, deps } = context
  if (!engine)
    throw new Problem(
      'home-owned',
      'Another process owns this home and runs its agents. Send the message to that process.',
    )
  requireContents(asked.inputs)
  await requireRoomFor(asked.inputs, context)
  const conversation = asked.conversation ?? (await findConversation(asked.conversationId, context))
  const request = { ...asked, ...defined({ conversation }) }

  const { run, ...entries } = newOpening(request, context)
  // Also reads the share of the organization, which the reservation below uses.
  const quota = await queueQuotaOf(context)
  const slot = engine.dispatcher.reserve(context.organizationId)
  try {
    const opened = await deps.store.runs.open({
      ...entries,
      run,
      policy: request.policy ?? request.agent.settings?.whenBusy ?? 'queue',
      ...defined({ claimFor: slot ? engine.workerId : undefined, quota }),
    })
    if (opened.type === 'opened') {
      if (opened.interrupted) engine.dispatcher.notify(opened.interrupted)
      if (opened.run.status === 'running' && slot) slot.use({ run: opened.run, events: [firstEvent(entries.entry)] })
      else engine.dispatcher.wake('queue')
    }
    return await toSendResult(opened, request, context)
  } finally {
    slot?.release()
  }
}

async function toSendResult(
  opened: OpenedRun,
  { conversationId }: SendInputsRequest,
  context: ServiceContext,
): Promise<SendResult> {
  switch (opened.type) {
    case 'opened': {
      const { id, status } = opened.run
      const { interrupted } = opened
      return { type: 'opened', runId: id, request: id, isQueued: status === 'created', ...defined({ interrupted }) }
    }
    case 'steered':
    case 'repeated':
      return opened
    case 'key-conflict':
      throw new Problem(
        'conflict',
        'This idempotency key was used for another message. Send this one with a new key.',
        { runId: opened.runId },
      )
    case 'otid-conflict':
      throw new Problem('conflict', 'This otid was used for another message. Send this one with a new otid.', {
        runId: opened.runId,
      })
    case 'no-conversation':
      throw new Problem('not-found', `There is no conversation "${conversationId}".`)
    case 'moved-on':
      throw new Error(`a message was opened after a run that is not the newest of ${conversationId}`)
    case 'over-quota':
      throw overQuotaProblem(opened)
    case 'refused':
      throw await refusalProblem(opened, context)
  }
}

/** The run of a request, as the store opens it: for a schedule, which opens it in a transaction of its own. */
export function newOpening(
  request: SendInputsRequest,
  context: ServiceContext,
): Pick<OpenRun, 'run' | 'entry' | 'interruption' | 'steering'> {
  const run = newRun(request, context)
  return { run, ...newEntries(request, run, context) }
}

const firstEvent = ({ event, at }: ProjectedEvent) => ({ seq: 1, at, event })

export function requireContents(inputs: readonly NewInput[]): void {
  for (const { content } of inputs) requireContent(content)
}

function requireContent(content: readonly InputPart[]): void {
  const isEmpty = content.every((part) => part.type === 'text' && part.text.trim() === '')
  if (isEmpty) throw new Problem('invalid', 'A message must have some text or an image.')
}

function newRun(
  { agent, conversationId, background, idempotencyKey, ...request }: SendInputsRequest,
  context: ServiceContext,
): NewRun {
  const { randomness, clock, digest } = context.deps
  const inputDigest = digest(canonicalJson({ inputs: request.inputs, agent: agent.id } as Json))
  const otids = request.inputs.flatMap(({ otid }) => otid ?? [])
  const identity: RequestIdentity = { digest: inputDigest, otids, isRetry: false, ...request.request }
  return {
    id: `run-${randomness.uuid()}` as const,
    organizationId: context.organizationId,
    agentId: agent.id,
    conversationId,
    background: background ?? false,
    createdAt: clock.now(),
    metadata: request.metadata ?? {},
    ...defined({ idempotency: idempotencyKey ? { key: idempotencyKey, digest: inputDigest } : undefined }),
    // An otid belongs to one run, even if the rest of the request differs.
    ...defined({
      openedBy: keyOf(context.caller),
      request: request.request || otids.length > 0 ? identity : undefined,
      callback: request.callback,
    }),
  }
}

function newEntries(
  request: SendInputsRequest,
  run: NewRun,
  { deps, defaults, caller }: ServiceContext,
): Record<'entry' | 'interruption' | 'steering', ProjectedEvent> {
  const { agent, conversation, clientTools, system, addendum, reasoning } = request
  const model = request.model ?? conversation?.details?.model
  const compaction = compactionSettingsOf(agent, defaults.compactionThreshold)
  const exitTools = exitToolsOf(agent)
  const toolNames = new Set([...agent.tools, ...(clientTools ?? []).map(({ name }) => name)])
  // A rule for a tool that the agent does not have could never be satisfied.
  const toolRules = toolRulesOf(agent).filter(({ tool }) => toolNames.has(tool))
  const inputs = request.inputs.map(
    (input): Input => ({ ...input, messageId: `message-${deps.randomness.uuid()}` as const }),
  )
  const settings: RunSettings = {
    targets: chainOf(model ? { ...agent, model } : agent, defaults.fallback),
    maxSteps: request.maxSteps ?? defaults.maxSteps,
    maxDurationMs: defaults.maxDurationMs,
    streamTokens: request.streamTokens ?? true,
    onGuarded: request.onGuarded ?? 'ask',
    approvalTtlMs: defaults.approvalTtlMs,
    ...defined({
      patienceMs: patienceOf(request.background ?? false),
      clientTools: clientTools && clientTools.length > 0 ? clientTools : undefined,
      onlyTools: request.onlyTools,
      silence: request.silence,
      system,
      addendum,
      exitTools: exitTools.length > 0 ? exitTools : undefined,
      toolRules: toolRules.length > 0 ? toolRules : undefined,
      compaction,
      modelSettings: overriddenBy(modelSettingsOf(agent, conversation, reasoning), request.modelSettings),
      windowLimit: windowLimitOf(agent, conversation),
      traceparent: caller.traceparent,
    }),
  }
  const at = deps.clock.now()
  const askedBy = request.askedBy ?? [principalOf(caller)]
  const entry = (event: TurnEvent): ProjectedEvent => ({ event, at, changes: [] })
  return {
    entry: entry({ type: 'input-accepted', v: 1, inputs, settings, askedBy }),
    interruption: entry({ type: 'cancel-requested', v: 1, cause: 'interrupt', by: principalOf(caller) }),
    steering: entry({
      type: 'input-steered',
      v: 1,
      inputs,
      askedBy,
      otherwise: { runId: run.id, background: run.background, metadata: run.metadata, settings },
    }),
  }
}

/** The error names the run or the calls that block the message, so that the sender can act on it. */
export async function refusalProblem(
  { refusal: reason, runId }: Extract<OpenedRun, { type: 'refused' }>,
  { deps, organizationId }: ServiceContext,
): Promise<Problem> {
  const details = runId ? { runId } : {}
  switch (reason) {
    case 'busy':
      return new Problem('busy', 'Cannot send a new message: another request is currently being processed.', details)
    case 'queue-full':
      return new Problem('queue-full', 'Too many messages are waiting in this conversation. Try again later.', details)
    case 'pending-approval': {
      const run = runId && (await deps.store.runs.get(organizationId, runId))
      const events = run ? await deps.store.events.read(run.id, 0) : []
      const turn = events.length > 0 ? foldTurn(events.map(({ event }) => event)) : undefined
      const callIds = turn
        ? openCalls(turn)
            .filter(isUndecided)
            .map((call) => call.callId)
        : []
      const answerId = turn?.step ? { answerId: turn.step.answerId } : {}
      const message =
        'Cannot send a new message: the agent is waiting for approval on a tool call. ' +
        'Please approve or deny the pending request before continuing.'
      return new Problem('pending-approval', message, { ...details, ...answerId, callIds })
    }
  }
}
