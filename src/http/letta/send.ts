import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AdmissionPolicy } from '../../core/admission.ts'
import type { Agent, Conversation } from '../../core/agent.ts'
import type { Verdict } from '../../core/approval.ts'
import { defined } from '../../core/defined.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import { canonicalJson, type Json } from '../../core/json.ts'
import type { Input } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { isOver, type Run } from '../../core/run.ts'
import type { JoinedTurn } from '../../core/steer.ts'
import { isTargetHandle, type TargetHandle } from '../../core/target.ts'
import { answerApproval } from '../../service/approvals/answer-approval.ts'
import { findAskingRun, findOpenApproval } from '../../service/approvals/approvals.ts'
import { acceptCallback } from '../../service/messages/callbacks.ts'
import { findJoinedTurn, findMovedRun } from '../../service/messages/joined-turn.ts'
import { type NewInput, type SendOptions, type SendResult, sendInputs } from '../../service/messages/send-message.ts'
import { cancelRun, markAnswered, showRun } from '../../service/runs/runs.ts'
import { waitForRun } from '../../service/runs/watch-run.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { addWarnings } from '../warnings.ts'
import { runFailedProblem } from './errors.ts'
import { renamedHandle, requireModel } from './model-handle.ts'
import { askedReasoning, type ParsedSend, parseSend, type SendBody, skillsPrompt, toClientTools } from './send-body.ts'
import { approvalRequestId } from './slice-ids.ts'
import { streamRun } from './stream.ts'
import { whenBusyOf } from './when-busy.ts'
import { wireRun } from './wire/run.ts'
import { runResponse } from './wire/run-response.ts'

/** How a request is answered. In every mode the run continues without the client. */
type SendMode = 'blocking' | 'async' | 'stream'

export type SendRequest = {
  agent: Agent
  conversationId: ConversationId
  body: SendBody
  /** The settings of the conversation win over those of the agent. */
  conversation: Pick<Conversation, 'details'>
  /** What happens when the conversation is busy, unless the request or the agent says so. */
  usual: AdmissionPolicy
  /** Names the route that opened the run, in its metadata. */
  runType: string
}

type HttpExchange = { request: FastifyRequest; reply: FastifyReply }

/** Sends and answers with the events of the run. */
export async function sendAndStream(
  exchange: HttpExchange,
  sending: SendRequest,
  context: ServiceContext,
): Promise<FastifyReply> {
  const { reply } = exchange
  const { body } = sending
  const accepted = await accept(exchange, { ...sending, mode: 'stream' }, context)
  const { runId, onSent, joined } = accepted
  const findMoved = () => findMovedRun(accepted, context)
  await streamRun(
    reply,
    {
      runId,
      onSent,
      ...defined({ joined: joined && { ...joined, findMoved } }),
      pings: body.include_pings ?? true,
      compactions: body.include_compaction_messages ?? false,
      ...defined({ types: body.include_return_message_types ?? undefined }),
      cancelOnDisconnect: body.cancel_on_disconnect ?? false,
    },
    context,
  )
  return reply
}

/** Sends and answers at once with the run. */
export async function sendInBackground(exchange: HttpExchange, sending: SendRequest, context: ServiceContext) {
  const { runId, onSent, isQueued, joined } = await accept(exchange, { ...sending, mode: 'async' }, context)
  const run = wireRun((await showRun(runId, context)).run)
  // The request counts as answered only when the whole answer was sent: until then a retry attaches to this run.
  exchange.reply.raw.once('finish', onSent)
  return { ...run, queued: isQueued, steered: joined !== undefined }
}

/** Sends, waits for the run to end and answers with its messages. */
export async function sendAndWait(exchange: HttpExchange, sending: SendRequest, context: ServiceContext) {
  const { body } = sending
  if (body.stream_tokens || body.background)
    throw new Problem('invalid', 'body: `stream_tokens` and `background` need `streaming: true`')
  const accepted = await accept(exchange, { ...sending, mode: 'blocking' }, context)
  const response = await waitForResponse({ reply: exchange.reply, accepted, body }, context)
  exchange.reply.raw.once('finish', accepted.onSent)
  return response
}

/** `request` is the id of the request, another one than `runId` if it joined a run; then `joined` says where. */
type Accepted = { runId: RunId; request: RunId; joined?: JoinedTurn; isQueued: boolean; onSent(): void }

/** Common to every route that sends. When it resolves, the message is durable. */
async function accept(
  { request, reply }: HttpExchange,
  sending: SendRequestInMode,
  context: ServiceContext,
): Promise<Accepted> {
  const sent = await openRun(request, sending, context)
  const { runId, isQueued = false, interrupted } = sent
  const joined = await findJoinedTurn(sent, context)
  nameRun(reply, runId)
  if (isQueued) reply.header('x-holdfast-queued', 'true')
  if (joined) reply.header('x-holdfast-steered', 'true')
  if (interrupted) reply.header('x-holdfast-interrupted', interrupted)
  addWarnings(reply, renamedHandle('override_model', sending.body.override_model, sent.model))
  const onSent = () => void markAnswered(sent.request, context)
  return { runId, request: sent.request, isQueued, onSent, ...defined({ joined }) }
}

function nameRun(reply: FastifyReply, runId: RunId): void {
  reply.header('x-run-id', runId)
  reply.header('x-holdfast-run', runId)
}

type SendRequestInMode = SendRequest & { mode: SendMode }

type Sent = Pick<SendResult, 'runId' | 'request' | 'isQueued' | 'interrupted'> & { model?: TargetHandle | undefined }

async function openRun(request: FastifyRequest, sending: SendRequestInMode, context: ServiceContext): Promise<Sent> {
  const { agent, conversationId, conversation, body, usual } = sending
  const parsed = parseSend(body)
  const policy = whenBusyOf({ headers: request.headers, body, agent, usual })
  const options = toSendOptions(sending, context)
  if (parsed.type === 'answer') {
    const runId = await answerOpenApproval({ parsed, sending, options }, context)
    return { runId, request: runId, model: options.model }
  }
  const retries = Number(request.headers['x-stainless-retry-count'] ?? 0)
  const sent = await sendInputs(
    {
      ...options,
      agent,
      conversationId,
      conversation,
      policy,
      inputs: parsed.inputs,
      request: { isRetry: retries > 0, fingerprint: fingerprintOf(request, context) },
    },
    context,
  )
  return { ...sent, model: options.model }
}

/** Fingerprint for retry detection: the key, path and body, which a retry shares with the first request. */
function fingerprintOf(request: FastifyRequest, { deps }: ServiceContext): string {
  const key = request.server.serverContext.keyOf(request.headers.authorization)
  const path = request.url.split('?')[0]!.replace(/\/$/, '')
  return deps.digest([key, path, canonicalJson((request.body ?? {}) as Json)].join('\n'))
}

function toSendOptions({ body, mode, runType }: SendRequestInMode, context: ServiceContext): SendOptions {
  const { max_steps, override_model, override_system, background, callback_url } = body
  const clientTools = toClientTools(body)
  const addendum = skillsPrompt(body)
  const types = body.include_return_message_types
  return {
    streamTokens: mode === 'stream' && (body.stream_tokens ?? false),
    background: mode === 'async' || (mode === 'stream' && (background ?? false)),
    metadata: { run_type: runType, ...defined({ include_return_message_types: types ?? undefined }) },
    ...defined({
      maxSteps: max_steps || undefined,
      model: override_model ? requireOverrideModel(override_model, context) : undefined,
      reasoning: askedReasoning(body),
      system: override_system || undefined,
      addendum: addendum || undefined,
      clientTools,
      callback: typeof callback_url === 'string' ? acceptCallback(callback_url, context) : undefined,
    }),
  }
}

export function requireOverrideModel(handle: string, context: ServiceContext): TargetHandle {
  if (isTargetHandle(handle)) return requireModel(handle, context)
  throw new Problem('invalid-argument', `body.override_model: must be provider/model, not "${handle.slice(0, 200)}"`)
}

type AnswerRequest = { parsed: Extract<ParsedSend, { type: 'answer' }>; sending: SendRequest; options: SendOptions }

const NOTHING_WAITS =
  'Cannot process approval response: No tool call is currently awaiting approval. ' +
  'Please send a regular message to interact with the agent.'

async function answerOpenApproval(
  { parsed, sending, options }: AnswerRequest,
  context: ServiceContext,
): Promise<RunId> {
  const { conversationId } = sending
  const open = await findOpenApproval(conversationId, context)
  const verdicts = open ? verdictsFor(open, parsed) : parsed.verdicts
  const callIds = verdicts.map(({ callId }) => callId)
  const isOfOpen = open?.calls.some(({ callId }) => callIds.includes(callId))
  const earlier = isOfOpen ? undefined : await findAskingRun(conversationId, callIds, context)
  const runId = earlier ?? open?.runId
  if (!runId) throw new Problem('invalid-argument', NOTHING_WAITS)
  try {
    return await answerApproval(
      {
        runId,
        verdicts,
        followUps: withMessageIds(parsed.followUps, context),
        reminder: [resumeReminder(context)],
        options,
      },
      context,
    )
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault
    if (fault.kind === 'invalid') throw new Problem('invalid-argument', fault.message)
    throw fault
  }
}

type WaitingApproval = NonNullable<Awaited<ReturnType<typeof findOpenApproval>>>

/** Expands the deprecated form to one verdict for each waiting call; it may name the approval request or a call. */
function verdictsFor({ answerId, calls }: WaitingApproval, { verdicts, blanket }: AnswerRequest['parsed']): Verdict[] {
  if (!blanket) return verdicts
  const { approve, reason, requestId } = blanket
  const known = [approvalRequestId(answerId), answerId, ...calls.map(({ callId }) => callId)]
  if (!known.includes(requestId))
    throw new Problem('invalid-argument', `Invalid tool call IDs. Expected '${known[0]}', but received '${requestId}'.`)
  return calls.map(({ callId }): Verdict => {
    if (approve) return { callId, verdict: 'approve' }
    return { callId, verdict: 'deny', ...defined({ reason: reason || undefined }) }
  })
}

const withMessageIds = (inputs: NewInput[], { deps }: ServiceContext): Input[] =>
  inputs.map((input) => ({ ...input, messageId: `message-${deps.randomness.uuid()}` }))

/** The message to the model when an approval is sent again and its results already exist. */
function resumeReminder({ deps }: ServiceContext): Input {
  const message =
    'Automated message: the results of your last tool calls are above, and the turn was interrupted after them. Go on from there.'
  const text = JSON.stringify({ type: 'system_alert', message, time: new Date(deps.clock.now()).toISOString() })
  return { messageId: `message-${deps.randomness.uuid()}`, role: 'user', content: [{ type: 'text', text }] }
}

type AwaitedResponse = { reply: FastifyReply; accepted: Accepted; body: SendBody }

/** Waits for the run to end and builds the response. */
async function waitForResponse({ reply, accepted, body }: AwaitedResponse, context: ServiceContext) {
  const { joined } = accepted
  const run = await waitForEnd({ reply, accepted, body }, context)
  const moved = await findMovedRun(accepted, context)
  if (moved) {
    // The run that was joined ended without reading the message, which now has its own.
    nameRun(reply, moved)
    const own = { ...accepted, runId: moved, request: moved }
    return responseOf(await waitForEnd({ reply, accepted: own, body }, context), { body }, context)
  }
  return responseOf(run, { body, ...defined({ joined }) }, context)
}

async function waitForEnd(
  { reply, accepted: { runId }, body }: AwaitedResponse,
  context: ServiceContext,
): Promise<Run> {
  const gone = new AbortController()
  const leave = () => {
    if (!reply.raw.writableFinished) gone.abort()
  }
  reply.raw.once('close', leave)
  const run = await waitForRun(runId, context, AbortSignal.any([gone.signal, reply.server.serverContext.closing]))
  reply.raw.off('close', leave)
  if (gone.signal.aborted) {
    if (body.cancel_on_disconnect) await cancelRun(runId, context)
    throw new Problem('caller-left', 'Client disconnected')
  }
  if (isOver(run)) return run
  throw new Problem(
    'unavailable',
    `The server is shutting down. ${runId} continues after the restart: retrieve it, or send this request again.`,
  )
}

async function responseOf(
  run: Run,
  { body, joined }: { body: SendBody; joined?: JoinedTurn },
  context: ServiceContext,
) {
  const stopReason = run.stopReason ?? 'error'
  if (run.status === 'failed' && run.error && stopReason !== 'max_tokens_exceeded')
    throw runFailedProblem(run.error, { runId: run.id, stopReason })
  const types = body.include_return_message_types ?? undefined
  return runResponse(await showRun(run.id, context), defined({ types, passed: joined?.passed }))
}
