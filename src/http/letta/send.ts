import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AdmissionPolicy } from '../../core/admission.ts'
import type { Agent } from '../../core/agent.ts'
import type { Verdict } from '../../core/approval.ts'
import type { ConversationId, RunId } from '../../core/id.ts'
import { canonicalJson, type Json } from '../../core/json.ts'
import type { Input } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { isOver } from '../../core/run.ts'
import { parseTarget, type TargetHandle } from '../../core/target.ts'
import { answerApproval } from '../../service/approvals/answer-approval.ts'
import { findAnsweredApproval, findOpenApproval } from '../../service/approvals/approvals.ts'
import type { Desk } from '../../service/desk.ts'
import { acceptCallback } from '../../service/messages/callbacks.ts'
import { type NewInput, sendInputs, type Wishes } from '../../service/messages/send-message.ts'
import { cancelRun, markAnswered, showRun } from '../../service/runs/runs.ts'
import { waitForRun } from '../../service/runs/watch-run.ts'
import { failedRun } from './errors.ts'
import { clientToolsOf, type Said, type SendBody, saidIn, skillsIn } from './send-body.ts'
import { approvalRequestId } from './slice-ids.ts'
import { streamRun } from './stream.ts'
import { wireRun } from './wire/run.ts'
import { runResponse } from './wire/run-response.ts'

/** How a request is answered; whatever it is, the run goes on without the caller. */
type SendMode = 'blocking' | 'async' | 'stream'

export type Sending = {
  agent: Agent
  conversationId: ConversationId
  body: SendBody
  /** What happens when the conversation is busy. */
  policy: AdmissionPolicy
  /** How the run remembers which route opened it. */
  runType: string
}

type Exchange = { request: FastifyRequest; reply: FastifyReply }

/** Sends and answers with the events of the run. */
export async function sendAndStream(exchange: Exchange, sending: Sending, desk: Desk): Promise<FastifyReply> {
  const { reply } = exchange
  const { body } = sending
  const { runId, onSent } = await accept(exchange, { ...sending, mode: 'stream' }, desk)
  await streamRun(
    reply,
    {
      runId,
      onSent,
      pings: body.include_pings ?? true,
      compactions: body.include_compaction_messages ?? false,
      ...(body.include_return_message_types ? { types: body.include_return_message_types } : {}),
      cancelOnDisconnect: body.cancel_on_disconnect ?? false,
    },
    desk,
  )
  return reply
}

/** Sends and answers at once with the run. */
export async function sendInBackground(exchange: Exchange, sending: Sending, desk: Desk) {
  const { runId, onSent } = await accept(exchange, { ...sending, mode: 'async' }, desk)
  const run = wireRun((await showRun(runId, desk)).run)
  // Only a whole answer counts as one: a caller that was told to come back finds this run again.
  exchange.reply.raw.once('finish', onSent)
  return run
}

/** Sends and answers with all that the run brought about, when it is over. */
export async function sendAndWait(exchange: Exchange, sending: Sending, desk: Desk) {
  const { body } = sending
  if (body.stream_tokens || body.background)
    throw new Problem('invalid', 'body: `stream_tokens` and `background` need `streaming: true`')
  const { runId, onSent } = await accept(exchange, { ...sending, mode: 'blocking' }, desk)
  const response = await wholeResponse({ reply: exchange.reply, runId, body }, desk)
  exchange.reply.raw.once('finish', onSent)
  return response
}

type Accepted = { runId: RunId; onSent(): void }

/** Every route that sends comes here. When it resolves, the message is on disk. */
async function accept({ request, reply }: Exchange, sending: Moded, desk: Desk): Promise<Accepted> {
  const runId = await openRun(request, sending, desk)
  reply.header('x-run-id', runId)
  return { runId, onSent: () => void markAnswered(runId, desk) }
}

type Moded = Sending & { mode: SendMode }

async function openRun(request: FastifyRequest, sending: Moded, desk: Desk): Promise<RunId> {
  const said = saidIn(sending.body)
  const wishes = wishesOf(sending, desk)
  if (said.type === 'answer') return answer({ said, sending, wishes }, desk)
  const { agent, conversationId, policy } = sending
  const retries = Number(request.headers['x-stainless-retry-count'] ?? 0)
  const sent = await sendInputs(
    {
      ...wishes,
      agent,
      conversationId,
      policy,
      inputs: said.inputs,
      request: { isRetry: retries > 0, fingerprint: fingerprintOf(request, desk) },
    },
    desk,
  )
  return sent.runId
}

/** Who asked, where, and what: all that a retry has in common with its first try. */
function fingerprintOf(request: FastifyRequest, { world }: Desk): string {
  const key = request.server.serving.keyOf(request.headers.authorization)
  const path = request.url.split('?')[0]!.replace(/\/$/, '')
  return world.digest([key, path, canonicalJson((request.body ?? {}) as Json)].join('\n'))
}

function wishesOf({ body, mode, runType }: Moded, desk: Desk): Wishes {
  const { max_steps, override_model, override_system, background, callback_url } = body
  const clientTools = clientToolsOf(body)
  const addendum = skillsIn(body)
  const types = body.include_return_message_types
  return {
    streamTokens: mode === 'stream' && (body.stream_tokens ?? false),
    background: mode === 'async' || (mode === 'stream' && (background ?? false)),
    metadata: { run_type: runType, ...(types ? { include_return_message_types: types } : {}) },
    ...(max_steps ? { maxSteps: max_steps } : {}),
    ...(override_model ? { model: requireModel(override_model, desk) } : {}),
    ...(override_system ? { system: override_system } : {}),
    ...(addendum ? { addendum } : {}),
    ...(clientTools ? { clientTools } : {}),
    ...(typeof callback_url === 'string' ? { callback: acceptCallback(callback_url, desk) } : {}),
  }
}

function requireModel(handle: string, { world }: Desk): TargetHandle {
  const target = parseTarget(handle)
  if (!target) throw new Problem('invalid-argument', `override_model must be provider/model, not "${handle}"`)
  if (!world.models.find(target.provider))
    throw new Problem('not-found', `Handle ${handle} not found: no such provider`)
  return handle as TargetHandle
}

type Answering = { said: Extract<Said, { type: 'answer' }>; sending: Sending; wishes: Wishes }

const NOTHING_WAITS =
  'Cannot process approval response: No tool call is currently awaiting approval. ' +
  'Please send a regular message to interact with the agent.'

async function answer({ said, sending, wishes }: Answering, desk: Desk): Promise<RunId> {
  const { conversationId } = sending
  const open = await findOpenApproval(conversationId, desk)
  const verdicts = open ? verdictsFor(open, said) : said.verdicts
  const callIds = verdicts.map(({ callId }) => callId)
  const isOfOpen = open?.calls.some(({ callId }) => callIds.includes(callId))
  const earlier = isOfOpen ? undefined : await findAnsweredApproval(conversationId, callIds, desk)
  const runId = earlier ?? open?.runId
  if (!runId) throw new Problem('invalid-argument', NOTHING_WAITS)
  const { streamTokens, background, maxSteps, clientTools, metadata, callback } = wishes
  try {
    return await answerApproval(
      {
        runId,
        verdicts,
        followUps: inputsOf(said.followUps, desk),
        reminder: [keepAlive(desk)],
        wishes: {
          ...(streamTokens === undefined ? {} : { streamTokens }),
          ...(background === undefined ? {} : { background }),
          ...(maxSteps === undefined ? {} : { maxSteps }),
          ...(clientTools === undefined ? {} : { clientTools }),
          ...(metadata === undefined ? {} : { metadata }),
          ...(callback === undefined ? {} : { callback }),
        },
      },
      desk,
    )
  } catch (fault) {
    if (!(fault instanceof Problem)) throw fault
    if (fault.kind === 'invalid') throw new Problem('invalid-argument', fault.message)
    if (fault.kind === 'conflict') throw new Problem('invalid-argument', NOTHING_WAITS)
    throw fault
  }
}

type Open = NonNullable<Awaited<ReturnType<typeof findOpenApproval>>>

/** The old form is one word for all that waits; it may name the request, or a call. */
function verdictsFor({ answerId, calls }: Open, { verdicts, wholesale }: Answering['said']): Verdict[] {
  if (!wholesale) return verdicts
  const { approve, reason, requestId } = wholesale
  const known = [approvalRequestId(answerId), answerId, ...calls.map(({ callId }) => callId)]
  if (requestId !== undefined && !known.includes(requestId))
    throw new Problem('invalid-argument', `Invalid tool call IDs. Expected '${known[0]}', but received '${requestId}'.`)
  return calls.map(({ callId }): Verdict => {
    if (approve) return { callId, verdict: 'approve' }
    return { callId, verdict: 'deny', ...(reason ? { reason } : {}) }
  })
}

const inputsOf = (inputs: NewInput[], { world }: Desk): Input[] =>
  inputs.map((input) => ({ ...input, messageId: `message-${world.randomness.uuid()}` }))

/** What the model is told when an approval is sent again and its results are already there. */
function keepAlive({ world }: Desk): Input {
  const message =
    'Automated message: the results of your last tool calls are above, and the turn was interrupted after them. Go on from there.'
  const text = JSON.stringify({ type: 'system_alert', message, time: new Date(world.clock.now()).toISOString() })
  return { messageId: `message-${world.randomness.uuid()}`, role: 'user', content: [{ type: 'text', text }] }
}

/** Waits for the end of a run and answers with what this request brought about. */
async function wholeResponse(
  { reply, runId, body }: { reply: FastifyReply; runId: RunId; body: SendBody },
  desk: Desk,
) {
  const gone = new AbortController()
  const leave = () => {
    if (!reply.raw.writableFinished) gone.abort()
  }
  reply.raw.once('close', leave)
  const run = await waitForRun(runId, desk, AbortSignal.any([gone.signal, reply.server.serving.closing]))
  reply.raw.off('close', leave)
  if (gone.signal.aborted) {
    if (body.cancel_on_disconnect) await cancelRun(runId, desk)
    throw new Problem('caller-left', 'Client disconnected')
  }
  if (!isOver(run)) {
    throw new Problem(
      'unavailable',
      `The server is stopping. The run goes on when it is back: ask for ${runId}, or send this again.`,
    )
  }
  const stopReason = run.stopReason ?? 'error'
  if (run.status === 'failed' && run.error && stopReason !== 'max_tokens_exceeded')
    throw failedRun(run.error, { runId, stopReason })
  return runResponse(await showRun(runId, desk), body.include_return_message_types ?? undefined)
}
