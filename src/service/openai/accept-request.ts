import type { AdmissionPolicy } from '../../core/admission.ts'
import type { Agent, Conversation } from '../../core/agent.ts'
import type { Verdict } from '../../core/approval.ts'
import { MEMORY_TOOLS } from '../../core/base-tools.ts'
import { defined } from '../../core/defined.ts'
import type { RunId } from '../../core/id.ts'
import type { Input } from '../../core/message.ts'
import { type Exchange, exchangesOf, findTail, openExchange, type Tail } from '../../core/openai/message-tail.ts'
import { isReply, type SentMessage } from '../../core/openai/sent-message.ts'
import { Problem } from '../../core/problem.ts'
import { answerApproval } from '../approvals/answer-approval.ts'
import { findAskingRun, findOpenApproval } from '../approvals/approvals.ts'
import { updateConversation } from '../conversations/conversations.ts'
import { type NewInput, type SendOptions, sendInputs } from '../messages/send-message.ts'
import type { ServiceContext } from '../service-context.ts'
import {
  type ConversationSource,
  placeBranch,
  placeConversation,
  RETRY_WINDOW_MS,
  type RequestCopies,
} from './place-conversation.ts'

type OpenaiRequest = {
  agent: Agent
  source: ConversationSource
  copies: RequestCopies
  messages: SentMessage[]
  /** Whether the messages repeat what the conversation has; otherwise all of them are new. */
  repeatsHistory: boolean
  policy: AdmissionPolicy
  options: Omit<SendOptions, 'policy' | 'addendum'>
}

type AcceptedRequest = { runId: RunId; conversation: Conversation; warnings: string[] }

/** Accepts a request in OpenAI's vocabulary. When it resolves, the message is on disk, or was before. */
export async function acceptOpenaiRequest(request: OpenaiRequest, context: ServiceContext): Promise<AcceptedRequest> {
  const { agent, copies } = request
  const source = await sourceOf(request, context)
  const conversation = await placeConversation({ agent, source, copies }, context)
  const earlier = await findCopy(conversation, copies, context)
  if (earlier) return { runId: earlier, conversation, warnings: [] }
  try {
    return await send({ ...request, source }, conversation, context)
  } catch (fault) {
    // The first copy was accepted after this one had looked for it, so nothing here is new.
    const overtaken = fault instanceof Problem ? await findCopy(conversation, copies, context) : undefined
    if (overtaken) return { runId: overtaken, conversation, warnings: [] }
    throw fault
  }
}

/** A result without a conversation goes to the call that waits for it. */
async function sourceOf({ source, messages, agent }: OpenaiRequest, { deps, organizationId }: ServiceContext) {
  if (source.type !== 'none') return source
  for (const { callId } of messages.filter(isReply).toReversed()) {
    const [run] = await deps.store.runs.askersOf(organizationId, agent.id, callId)
    if (run) return { type: 'id', id: run.conversationId } as const
  }
  return source
}

async function findCopy(
  conversation: Conversation,
  { isRetry, fingerprint, at }: RequestCopies,
  { deps }: ServiceContext,
): Promise<RunId | undefined> {
  if (!isRetry) return undefined
  const { runs } = deps.store
  // A chat may have branched since: the first copy is where it was accepted.
  return runs.findByFingerprint(conversation.id, fingerprint, at - RETRY_WINDOW_MS)
}

async function send(request: OpenaiRequest, placed: Conversation, context: ServiceContext): Promise<AcceptedRequest> {
  const { agent, copies, policy } = request
  const { conversation, messages, warnings } = await newMessages(request, placed, context)
  const options = { ...request.options, ...defined({ addendum: instructionsIn(request.messages) }) }
  const answered = await answerOpenCalls({ request, messages, options }, conversation, context)
  if (answered) return { runId: answered, conversation, warnings }
  const inputs = [...(await firstItems(conversation, context)), ...messages.flatMap(toInputs)]
  if (!messages.some(({ role }) => role === 'user' || role === 'tool'))
    throw new Problem(
      'invalid',
      'There is no new message: the last one must be from the user or the result of a tool.',
      {
        param: 'messages',
      },
    )
  const { fingerprint, isRetry } = copies
  const { runId } = await sendInputs(
    {
      ...options,
      agent,
      conversationId: conversation.id,
      conversation,
      policy,
      inputs,
      request: { fingerprint, isRetry, windowMs: RETRY_WINDOW_MS, arrivedAt: copies.at },
      ...defined({ onlyTools: request.source.type === 'once' ? (options.onlyTools ?? forgetful(agent)) : undefined }),
    },
    context,
  )
  return { runId, conversation, warnings }
}

type NewMessages = { conversation: Conversation; messages: SentMessage[]; warnings: string[] }

/** Messages that are read to find the end of the history that a client repeats. */
const READ_BACK = 400

/** What the conversation does not have yet; in a fork, if the client continues from an earlier exchange. */
async function newMessages(
  { agent, copies, messages, repeatsHistory, source }: OpenaiRequest,
  conversation: Conversation,
  context: ServiceContext,
): Promise<NewMessages> {
  const sent = messages.filter(({ role }) => role !== 'instruction')
  if (!repeatsHistory || source.type === 'once') return { conversation, messages: sent, warnings: [] }
  const page = { limit: READ_BACK, take: 'newest' } as const
  const stored = await context.deps.store.messages.list(context.organizationId, conversation.id, page)
  const kept = [...exchangesOf(stored), ...(await openExchanges(conversation, context))]
  const isChat = source.type === 'name' && source.sendsHistory
  const isFirst = kept.length > 0 && !sent.some(({ role }) => role === 'assistant')
  // A chat that sends its whole history and has no answer in it begins again.
  const tail: Tail = isChat && isFirst ? { type: 'branch', messages: sent } : findTail(sent, kept)
  switch (tail.type) {
    case 'tail': {
      const changed = `messages[${tail.changed}]: differs from what the agent answered. The kept answer stays.`
      return { conversation, messages: tail.messages, warnings: tail.changed === undefined ? [] : [changed] }
    }
    case 'branch': {
      if (!isChat) throw mismatch(messages.length - tail.messages.length - 1)
      // What is kept may be another copy of this request.
      const branch = (await hasCopy(conversation, copies, context))
        ? conversation
        : await branchOff({ conversation, agent, copies }, tail.end, context)
      return { conversation: branch, messages: tail.messages, warnings: [] }
    }
    case 'mismatch':
      throw mismatch(tail.at)
  }
}

/** Whether a copy of the request was accepted here; a retry may have been faster than its original. */
async function hasCopy(
  { id }: Conversation,
  { isRetry, fingerprint, at }: RequestCopies,
  { deps }: ServiceContext,
): Promise<boolean> {
  const since = isRetry ? at - RETRY_WINDOW_MS : at - 1
  return (await deps.store.runs.findByFingerprint(id, fingerprint, since)) !== undefined
}

/** What was said and not answered yet: a client that was cut off repeats it with the part of the answer that it saw. */
async function openExchanges({ id }: Conversation, { deps, organizationId }: ServiceContext): Promise<Exchange[]> {
  const { runs, events } = deps.store
  const active = await runs.list(
    organizationId,
    { conversationId: id, statuses: ['created', 'running'] },
    { limit: 20 },
  )
  const accepted = await Promise.all(active.toReversed().map((run) => events.first(run.id)))
  return accepted.flatMap((event) => (event?.type === 'input-accepted' ? openExchange(event.inputs) : []))
}

const mismatch = (at: number): Problem =>
  new Problem(
    'invalid-argument',
    `messages[${at}] does not match what the conversation keeps at its end. Send its history unchanged, or only the new messages, or use another conversation.`,
    { param: 'messages', code: 'messages_mismatch' },
  )

type Branching = { conversation: Conversation; agent: Agent; copies: RequestCopies }

/**
 * A fork with the messages up to `end`, or without any, in which the client goes on. The former messages stay. Copies of a
 * request get the same one.
 */
async function branchOff(
  { conversation, agent, copies }: Branching,
  end: number | undefined,
  context: ServiceContext,
): Promise<Conversation> {
  const branch = await placeBranch({ conversation, agent, copies }, end, context)
  if (branch.id !== conversation.id) await pointTo(conversation, branch, context)
  return branch
}

/** Every conversation of the chat points to its newest branch, so that following takes one step. */
async function pointTo(from: Conversation, to: Conversation, context: ServiceContext): Promise<void> {
  const root = from.details?.branchOf ?? from.id
  await updateConversation(to.id, { details: (before) => ({ ...before, branchOf: root }) }, context)
  await updateConversation(root, { details: (before) => ({ ...before, continuedIn: to.id }) }, context)
}

type OpenCallAnswer = { request: OpenaiRequest; messages: SentMessage[]; options: SendOptions }

/** Answers the calls that wait in the conversation. Undefined: none does, and the messages are an ordinary input. */
async function answerOpenCalls(
  { request, messages, options }: OpenCallAnswer,
  conversation: Conversation,
  context: ServiceContext,
): Promise<RunId | undefined> {
  const replies = request.messages.filter(isReply)
  const open = await findOpenApproval(conversation.id, context)
  const followUps = messages.flatMap(toFollowUp).map((input) => withMessageId(input, context))
  const callIds = replies.map(({ callId }) => callId)
  const answer = (runId: RunId, verdicts: Verdict[]) => answerApproval({ runId, verdicts, followUps, options }, context)
  if (open) {
    const given = replies.filter(({ callId }) => open.calls.some((call) => call.callId === callId))
    if (given.length > 0) return answer(open.runId, requireAll(given.map(toVerdict), open.calls))
    if (followUps.length > 0 && (await areOfClient(open, context)))
      return answer(
        open.runId,
        open.calls.map(({ callId }) => ({ callId, verdict: 'result', status: 'error', output: NO_RESULT })),
      )
  }
  if (replies.length === 0 || followUps.length > 0) return undefined
  const earlier = await findAskingRun(conversation.id, callIds, context)
  if (earlier) return answer(earlier, replies.map(toVerdict))
  // In a conversation of its own the whole history is new, and the results are part of it.
  if (messages.some(({ role }) => role === 'user' || role === 'assistant')) return undefined
  throw new Problem('invalid', `No call "${callIds.join('", "')}" waits for a result in this conversation.`, {
    param: 'messages',
  })
}

const NO_RESULT = 'The application sent no result for this call.'

function requireAll(verdicts: Verdict[], calls: readonly { callId: string }[]): Verdict[] {
  const missing = calls.filter(({ callId }) => !verdicts.some((verdict) => verdict.callId === callId))
  if (missing.length === 0) return verdicts
  const ids = missing.map(({ callId }) => callId).join(', ')
  throw new Problem('invalid', `No tool output found for function call ${ids}. Send the results of all open calls.`, {
    param: 'messages',
  })
}

async function areOfClient(
  { runId, calls }: { runId: RunId; calls: readonly { tool: string }[] },
  { deps }: ServiceContext,
): Promise<boolean> {
  const first = await deps.store.events.first(runId)
  const own = first?.type === 'input-accepted' ? (first.settings.clientTools ?? []) : []
  return calls.every(({ tool }) => own.some(({ name }) => name === tool))
}

function toVerdict(message: Extract<SentMessage, { role: 'tool' | 'approval' }>): Verdict {
  const { callId } = message
  if (message.role === 'tool') {
    const { output, images } = message
    return { callId, verdict: 'result', status: 'success', output, ...defined({ images }) }
  }
  if (message.approve) return { callId, verdict: 'approve' }
  return { callId, verdict: 'deny', ...defined({ reason: message.reason }) }
}

const withMessageId = (input: NewInput, { deps }: ServiceContext): Input => ({
  ...input,
  messageId: `message-${deps.randomness.uuid()}`,
})

function toFollowUp(message: SentMessage): NewInput[] {
  return message.role === 'user' ? toInputs(message) : []
}

/** Calls and results of a history that was made elsewhere become text: this agent did not make those calls. */
function toInputs(message: SentMessage): NewInput[] {
  switch (message.role) {
    case 'instruction':
    case 'approval':
      return []
    case 'user':
      return [{ role: 'user', content: message.content, ...defined({ name: message.name }) }]
    case 'assistant': {
      const calls = message.calls.map((call) => `[called ${call.name}(${call.arguments}) as ${call.callId}]`)
      const text = [message.text, ...calls].filter((part) => part.trim() !== '').join('\n')
      return text === '' ? [] : [{ role: 'assistant', content: [{ type: 'text', text }] }]
    }
    case 'tool': {
      const text = `[result of ${message.callId}]\n${message.output}`
      return [{ role: 'user', content: [{ type: 'text', text }, ...(message.images ?? [])] }]
    }
  }
}

const instructionsIn = (messages: readonly SentMessage[]): string | undefined =>
  messages.flatMap((message) => (message.role === 'instruction' ? [message.text] : [])).join('\n\n') || undefined

/** The messages that a conversation was created with; its first turn takes them. */
async function firstItems(conversation: Conversation, { deps, organizationId }: ServiceContext): Promise<NewInput[]> {
  if (conversation.nextPosition > 0) return []
  const stored = await deps.store.openai.conversation(organizationId, conversation.id)
  return ((stored?.items ?? []) as unknown as SentMessage[]).flatMap(toInputs)
}

const READING = ['conversation_search', 'conversation_search_date', 'archival_memory_search']

/** The tools of the agent without those that write its memory. */
const forgetful = ({ tools }: Agent): string[] =>
  tools.filter((name) => READING.includes(name) || !MEMORY_TOOLS.includes(name))
