import { undecidedCalls } from '../../core/approval.ts'
import { defined } from '../../core/defined.ts'
import { chatSettingsOf } from '../../core/gateway/access.ts'
import { closedPrompt } from '../../core/gateway/approval-prompt.ts'
import { askingKeyOf } from '../../core/gateway/approver-chat.ts'
import { bodyOfFile } from '../../core/gateway/chat-file.ts'
import type { NewOutbound, OutboundBody } from '../../core/gateway/outbound.ts'
import { NO_ANSWER, outcomeText, saidIn } from '../../core/gateway/outcome-text.ts'
import type { ChatAddress, Delivery } from '../../core/gateway/session.ts'
import { splitText } from '../../core/gateway/split-text.ts'
import type { RunId } from '../../core/id.ts'
import { isOver, isSettled, type Run } from '../../core/run.ts'
import type { ToolCall } from '../../core/tool-call.ts'
import { foldTurn, type Turn } from '../../core/turn.ts'
import type { GatewayChange } from '../../ports/gateway-store.ts'
import type { ServiceContext } from '../service-context.ts'
import { newQuestions, takeBackQuestions } from './approver-chat.ts'
import { commitChanges, type GatewayScope } from './gateway-scope.ts'

type DeliverOptions = {
  scope: GatewayScope
  maxText: number
  /** The largest file that the platform takes. Absent: none. */
  maxFileBytes?: number
  /** Whether people notice an edit. If not, an answer that took long is a message of its own. */
  notifiesOfEdits: boolean
}

/** After this time a person looks elsewhere, and an edit would not bring them back. */
const LONG_TURN_MS = 60_000

/** `running`: the run is not over. `waiting`: an approval was asked for. `ended`: nothing more is owed. */
type DeliveryProgress = 'running' | 'waiting' | 'ended'

/**
 * Puts the outcome of a run into the messages of its chat: its answer, or the question for an approval. All messages and
 * the end of the delivery are one commit, so that the outcome is said exactly once.
 */
export async function deliverOutcome(
  { runId }: Pick<Delivery, 'runId'>,
  options: DeliverOptions,
  context: ServiceContext,
): Promise<DeliveryProgress> {
  const { deps, organizationId } = context
  // As it is now: a commit whose answer was lost must not be made again with other tokens or other messages.
  const delivery = await deps.store.gateway.delivery(organizationId, runId)
  if (!delivery || delivery.state === 'ended') return 'ended'
  const { scope } = options
  if (delivery.isUnprompted && !hearsOthers(scope, delivery)) return end(delivery, scope, context)
  const run = await deps.store.runs.get(organizationId, delivery.runId)
  if (!run) return endMissing(delivery, options, context)
  if (delivery.state === 'waiting') return closeApproval(delivery, run, { scope }, context)
  if (!isOver(run)) return 'running'
  const turn = foldTurn((await deps.store.events.read(run.id, 0)).map(({ event }) => event))
  // Answered in the meantime: the question is not asked any more, and what follows is said by the continuing run.
  if (run.waiting) return askForApproval(delivery, { run, calls: askedCalls(turn) }, options, context)
  const files = await filesOf(run, options, context)
  const texts = await answerTexts({ run, turn, files, isUnprompted: delivery.isUnprompted }, options, context)
  const next = turn.continuedBy ? [openDelivery(delivery, turn.continuedBy, context)] : []
  const messages = await messagesFor(delivery, texts, options, context)
  await commitChanges(
    [...messages, ...next, { type: 'save-delivery', delivery: { ...delivery, state: 'ended' } }],
    scope,
    context,
  )
  return 'ended'
}

/** A reserved run that was never opened: the message was read by the run it joined. */
async function endMissing(
  delivery: Delivery,
  { scope }: DeliverOptions,
  context: ServiceContext,
): Promise<DeliveryProgress> {
  const { store } = context.deps
  const joined = delivery.after && (await store.runs.get(context.organizationId, delivery.after))
  if (joined && !isOver(joined)) return 'running'
  // Read again: the run it reserved begins in the commit that ends the one it joined.
  if (joined && (await store.runs.get(context.organizationId, delivery.runId))) return 'running'
  return end(delivery, scope, context)
}

/** Nothing is said. */
async function end(delivery: Delivery, scope: GatewayScope, context: ServiceContext): Promise<'ended'> {
  await commitChanges([{ type: 'save-delivery', delivery: { ...delivery, state: 'ended' } }], scope, context)
  return 'ended'
}

/** Whether the chat receives the outcome of runs that it did not start. */
function hearsOthers({ settings }: GatewayScope, { chatId, isPrivate }: Delivery): boolean {
  const chat = chatSettingsOf(settings, { id: chatId, kind: isPrivate ? 'private' : 'group' })
  return chat?.unprompted ?? settings.unprompted ?? true
}

type Outcome = { run: Run; turn: Turn; files: readonly OutboundBody[]; isUnprompted: boolean }

/** A person who asked gets an answer in any case. A run that started by itself may have nothing to say. */
async function answerTexts(
  { run, turn, files, isUnprompted }: Outcome,
  { maxText }: DeliverOptions,
  { deps }: ServiceContext,
): Promise<OutboundBody[]> {
  const messages = await deps.store.messages.ofRun(run.id)
  if (isUnprompted && hasNoNews(run, { turn, said: saidIn(messages) })) return [...files]
  const text = outcomeText(run, messages)
  if (text === '' && files.length > 0) return [...files]
  const parts = splitText(text === '' ? NO_ANSWER : text, maxText).map((part) => ({ text: part }))
  return [...parts, ...files]
}

/** What the calls of the run sent, in their order. A call that ended without its success sent nothing. */
async function filesOf(run: Run, { maxFileBytes }: DeliverOptions, { deps }: ServiceContext): Promise<OutboundBody[]> {
  const files = await deps.store.gateway.filesOf(run.id)
  if (files.length === 0) return []
  const outcomes = (await deps.store.messages.ofRun(run.id)).flatMap(({ body }) =>
    body.role === 'tool' ? body.outcomes : [],
  )
  const done = new Set(outcomes.filter(({ status }) => status === 'success').map(({ callId }) => callId))
  return files.filter(({ callId }) => done.has(callId)).map((file) => bodyOfFile(file, maxFileBytes))
}

/**
 * Compacting or ending a session is no news, and neither is a run that was cancelled before it said anything. Of a
 * heartbeat nothing is news but what its agent says: a provider that is down would be told every half hour.
 */
function hasNoNews({ status, silent }: Run, { turn, said }: { turn: Turn; said: string }): boolean {
  const { task, silence } = turn.settings
  if (task !== undefined || silent) return true
  return said === '' && (silence !== undefined || status === 'completed' || status === 'cancelled')
}

/** The results of a client's own tools come from the client, and never from a chat. */
function askedCalls(turn: Turn): ToolCall[] {
  const ofClient = new Set((turn.settings.clientTools ?? []).map(({ name }) => name))
  return undecidedCalls(turn).filter(({ tool }) => !ofClient.has(tool))
}

async function askForApproval(
  delivery: Delivery,
  { run, calls }: { run: Run; calls: ToolCall[] },
  options: DeliverOptions,
  context: ServiceContext,
): Promise<DeliveryProgress> {
  const { deps } = context
  const said = outcomeText(run, await deps.store.messages.ofRun(run.id))
  const parts = said === '' ? [] : splitText(said, options.maxText).map((text) => ({ text }))
  const answer = [...parts, ...(await filesOf(run, options, context))]
  const questionFor = await newQuestions(delivery, options.scope, context)
  const questions = calls.map((call, index) => questionFor(call, messageKey(run.id, answer.length + index)))
  const prompts = questions.map(({ body }) => body)
  const messages = await messagesFor(delivery, [...answer, ...prompts], { ...options, notifiesOfEdits: true }, context)
  await commitChanges(
    [
      ...messages,
      ...questions.flatMap(({ token, changes }): GatewayChange[] => [{ type: 'add-token', token }, ...changes]),
      { type: 'save-delivery', delivery: { ...delivery, state: 'waiting' } },
    ],
    options.scope,
    context,
  )
  return 'waiting'
}

/** Once the approval is answered, expired or cancelled: the prompts say so, and the continuing run is owed. */
async function closeApproval(
  delivery: Delivery,
  run: Run,
  { scope }: { scope: GatewayScope },
  context: ServiceContext,
): Promise<DeliveryProgress> {
  const { deps, organizationId } = context
  const readTurn = async () => foldTurn((await deps.store.events.read(run.id, 0)).map(({ event }) => event))
  if (!isSettled(run)) {
    const readCalls = async () => askedCalls(await readTurn())
    const changes = await takeBackQuestions({ delivery, readCalls }, scope, context)
    if (changes.length > 0) await commitChanges(changes, scope, context)
    return 'waiting'
  }
  const turn = await readTurn()
  const tokens = await deps.store.gateway.tokensOf(organizationId, run.id)
  const otherwise = turn.continuedBy ? 'elsewhere' : turn.cancel?.cause === 'expiry' ? 'expired' : 'cancelled'
  const at = deps.clock.now()
  const closed = tokens.flatMap((token): GatewayChange[] => {
    // A decision that came too late had no effect.
    const body = closedPrompt(turn.continuedBy ? token : { tool: token.tool }, otherwise)
    const { account, messageKey: key } = token
    const askingKey = askingKeyOf(token)
    const prompt: GatewayChange = { type: 'revise-outbound', account, key, body, at }
    return askingKey === undefined ? [prompt] : [prompt, { type: 'revise-outbound', key: askingKey, body, at }]
  })
  const next = turn.continuedBy ? [openDelivery(delivery, turn.continuedBy, context)] : []
  await commitChanges(
    [...closed, ...next, { type: 'save-delivery', delivery: { ...delivery, state: 'ended' } }],
    scope,
    context,
  )
  return 'ended'
}

function openDelivery({ after: _, ...delivery }: Delivery, runId: RunId, { deps }: ServiceContext): GatewayChange {
  return { type: 'add-delivery', delivery: { ...delivery, runId, state: 'open', createdAt: deps.clock.now() } }
}

const messageKey = (runId: RunId, index: number): string => `run/${runId}/${index}`

/** The first message of a run: shows its progress and becomes its answer. */
export const statusKey = (runId: RunId): string => messageKey(runId, 0)

/** The texts as messages; the first one goes into the status message if there is one. */
async function messagesFor(
  delivery: Delivery,
  bodies: readonly OutboundBody[],
  { scope, notifiesOfEdits }: DeliverOptions,
  { deps }: ServiceContext,
): Promise<GatewayChange[]> {
  const at = deps.clock.now()
  const status = await deps.store.gateway.outbound(scope.lease, statusKey(delivery.runId))
  const isOld = status !== undefined && !notifiesOfEdits && at - status.createdAt > LONG_TURN_MS
  const shift = isOld ? 1 : 0
  const closing: GatewayChange[] = isOld
    ? [{ type: 'revise-outbound', key: statusKey(delivery.runId), body: { text: '☑️ Done.' }, at }]
    : []
  return [
    ...closing,
    ...bodies.flatMap((body, index): GatewayChange[] => {
      const key = messageKey(delivery.runId, index + shift)
      const message = outboundOf(delivery, { key, body, at, isFirst: index === 0 })
      return [
        { type: 'add-outbound', message },
        { type: 'revise-outbound', key, body, at },
      ]
    }),
  ]
}

type MessageParts = { key: string; body: OutboundBody; at: number; isFirst: boolean }

function outboundOf(
  { organizationId, account, chatId, thread, isPrivate, replyTo, runId }: Delivery,
  { key, body, at, isFirst }: MessageParts,
): NewOutbound {
  const address: ChatAddress = { chatId, isPrivate, ...defined({ thread }) }
  return {
    organizationId,
    account,
    key,
    ...address,
    runId,
    body,
    createdAt: at,
    ...defined({ replyTo: isFirst ? replyTo : undefined }),
  }
}

/** A message without content that will show the progress of the run and become its answer. */
export async function showStatus(delivery: Delivery, scope: GatewayScope, context: ServiceContext): Promise<void> {
  const at = context.deps.clock.now()
  const message = outboundOf(delivery, { key: statusKey(delivery.runId), body: { text: '' }, at, isFirst: true })
  await commitChanges([{ type: 'add-outbound', message }], scope, context)
}
