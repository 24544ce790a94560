import type { AdmissionPolicy } from '../../core/admission.ts'
import { type Agent, chainOf } from '../../core/agent.ts'
import { compactionOf } from '../../core/agent-compaction.ts'
import type { TurnEvent } from '../../core/event.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import { canonicalJson, type Json } from '../../core/json.ts'
import type { Input, InputPart } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import type { Entry } from '../../core/projection.ts'
import { BACKGROUND_PATIENCE_MS } from '../../core/recovery.ts'
import type { ClientTool, RunSettings } from '../../core/run.ts'
import type { TargetHandle } from '../../core/target.ts'
import { exitToolsOf, toolRulesOf } from '../../core/tool-rules.ts'
import { foldTurn, isUndecided, openCalls } from '../../core/turn.ts'
import type { CallbackWish } from '../../ports/callback-store.ts'
import type { NewRun, OpenedRun, RequestMark } from '../../ports/store.ts'
import type { Desk } from '../desk.ts'
import { withTurnAllowance } from './turn-allowance.ts'

/** How a request is to be carried out. */
export type Wishes = {
  policy?: AdmissionPolicy
  streamTokens?: boolean
  background?: boolean
  onGuarded?: RunSettings['onGuarded']
  maxSteps?: number
  /** Instead of the agent's model, for this run only; the rest of its chain stays. */
  model?: TargetHandle
  system?: string
  /** Said after the prompt, for this run only. */
  addendum?: string
  clientTools?: ClientTool[]
  metadata?: Json
  callback?: CallbackWish
}

type Addressed = Wishes & { agent: Agent; conversationId: ConversationId; idempotencyKey?: string }

export type SendMessage = Addressed & { content: InputPart[]; otid?: string }

export type NewInput = Omit<Input, 'messageId'>

type SendInputs = Addressed & {
  inputs: NewInput[]
  /** What its copies are recognized by, beside the otids of its inputs. */
  request?: Pick<RequestMark, 'fingerprint' | 'isRetry'>
}

/** `opened`: a new run. `steered`: it entered the running one. `repeated`: the same request was accepted before. */
export type Sent = { type: 'opened' | 'steered' | 'repeated'; runId: RunId }

/** Accepts a message: when this resolves it is on disk, and its run will reach an end, also after a crash. */
export const sendMessage = ({ content, otid, ...request }: SendMessage, desk: Desk): Promise<Sent> =>
  sendInputs({ ...request, inputs: [{ role: 'user', content, ...(otid ? { otid } : {}) }] }, desk)

/** The same for what an application says in several messages: all of them, or none. */
export async function sendInputs(request: SendInputs, desk: Desk): Promise<Sent> {
  const sent = await withTurnAllowance(request.agent.id, desk, () => openRun(request, desk))
  if (request.callback) desk.callbacks.expect(sent.runId, desk.organizationId)
  return sent
}

async function openRun(request: SendInputs, desk: Desk): Promise<Sent> {
  const { engine, world } = desk
  if (!engine) throw new Problem('home-owned', 'Another process runs the agents of this home. Send the message there.')
  for (const { content } of request.inputs) requireContent(content)

  const run = newRun(request, desk)
  const entries = entriesOf(request, desk)
  const place = engine.dispatcher.reserve()
  try {
    const opened = await world.store.runs.open({
      ...entries,
      run,
      policy: request.policy ?? 'enqueue',
      ...(place ? { claimFor: engine.workerId } : {}),
    })
    if (opened.type === 'opened') {
      if (opened.interrupted) engine.dispatcher.nudge(opened.interrupted)
      if (opened.run.status === 'running' && place) place.use({ run: opened.run, events: [firstEvent(entries.entry)] })
      else engine.dispatcher.wake('queue')
    }
    return await sentOrRefused(opened, request, desk)
  } finally {
    place?.release()
  }
}

async function sentOrRefused(opened: OpenedRun, { conversationId }: SendInputs, desk: Desk): Promise<Sent> {
  switch (opened.type) {
    case 'opened':
      return { type: 'opened', runId: opened.run.id }
    case 'steered':
    case 'repeated':
      return { type: opened.type, runId: opened.runId }
    case 'key-conflict':
      throw new Problem('conflict', 'This idempotency key was used for another message.', { runId: opened.runId })
    case 'otid-conflict':
      throw new Problem('conflict', 'This otid was used for another message.', { runId: opened.runId })
    case 'no-conversation':
      throw new Problem('not-found', `There is no conversation ${conversationId}.`)
    case 'refused':
      throw await refusal(opened, desk)
  }
}

const firstEvent = ({ event, at }: Entry) => ({ seq: 1, at, event })

function requireContent(content: readonly InputPart[]): void {
  const isEmpty = content.every((part) => part.type === 'text' && part.text.trim() === '')
  if (isEmpty) throw new Problem('invalid', 'A message must have some text or an image.')
}

function newRun({ agent, conversationId, background, idempotencyKey, ...request }: SendInputs, desk: Desk): NewRun {
  const { randomness, clock, digest } = desk.world
  const said = digest(canonicalJson({ inputs: request.inputs, agent: agent.id } as Json))
  const otids = request.inputs.flatMap(({ otid }) => otid ?? [])
  const mark: RequestMark = { digest: said, otids, isRetry: false, ...request.request }
  return {
    id: `run-${randomness.uuid()}` as const,
    organizationId: desk.organizationId,
    agentId: agent.id,
    conversationId,
    background: background ?? false,
    createdAt: clock.now(),
    metadata: request.metadata ?? {},
    ...(idempotencyKey ? { idempotency: { key: idempotencyKey, digest: said } } : {}),
    // An otid belongs to one run, also where it comes without the rest of its request.
    ...(request.request || otids.length > 0 ? { request: mark } : {}),
    ...(request.callback ? { callback: request.callback } : {}),
  }
}

function entriesOf(
  request: SendInputs,
  { world, defaults }: Desk,
): Record<'entry' | 'interruption' | 'steering', Entry> {
  const { agent, model, clientTools, system, addendum } = request
  const compaction = compactionOf(agent)
  const exitTools = exitToolsOf(agent)
  const theirs = new Set([...agent.tools, ...(clientTools ?? []).map(({ name }) => name)])
  // A rule for a tool it does not have would bind a turn to what it cannot do.
  const toolRules = toolRulesOf(agent).filter(({ tool }) => theirs.has(tool))
  const inputs = request.inputs.map(
    (input): Input => ({ ...input, messageId: `message-${world.randomness.uuid()}` as const }),
  )
  const settings: RunSettings = {
    targets: chainOf(model ? { ...agent, model } : agent, defaults.fallback),
    maxSteps: request.maxSteps ?? defaults.maxSteps,
    maxDurationMs: defaults.maxDurationMs,
    streamTokens: request.streamTokens ?? true,
    onGuarded: request.onGuarded ?? 'ask',
    approvalTtlMs: defaults.approvalTtlMs,
    // A caller that holds its connection open gives up at 60 s; a background run has no such caller.
    ...(request.background ? { patienceMs: BACKGROUND_PATIENCE_MS } : {}),
    ...(clientTools && clientTools.length > 0 ? { clientTools } : {}),
    ...(system === undefined ? {} : { system }),
    ...(addendum === undefined ? {} : { addendum }),
    ...(exitTools.length > 0 ? { exitTools } : {}),
    ...(toolRules.length > 0 ? { toolRules } : {}),
    ...(compaction ? { compaction } : {}),
  }
  const at = world.clock.now()
  const entry = (event: TurnEvent): Entry => ({ event, at, changes: [] })
  return {
    entry: entry({ type: 'input-accepted', v: 1, inputs, settings }),
    interruption: entry({ type: 'cancel-requested', v: 1, cause: 'interrupt' }),
    steering: entry({ type: 'input-steered', v: 1, inputs }),
  }
}

/** A refusal names what stands in the way, so that the sender can do something about it. */
export async function refusal(
  { refusal: reason, runId }: Extract<OpenedRun, { type: 'refused' }>,
  { world, organizationId }: Desk,
): Promise<Problem> {
  const details = runId ? { runId } : {}
  switch (reason) {
    case 'busy':
      return new Problem('busy', 'Cannot send a new message: another request is currently being processed.', details)
    case 'queue-full':
      return new Problem('queue-full', 'Too many messages are waiting in this conversation. Try again later.', details)
    case 'pending-approval': {
      const run = runId && (await world.store.runs.get(organizationId, runId))
      const events = run ? await world.store.events.read(run.id, 0) : []
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
