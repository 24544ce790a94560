import { mayApprove } from '../../core/gateway/access.ts'
import { closedPrompt } from '../../core/gateway/approval-prompt.ts'
import { type ApprovalToken, DECISION_WORDS, parsePress } from '../../core/gateway/approval-token.ts'
import { askingKeyOf } from '../../core/gateway/approver-chat.ts'
import type { ChatSession } from '../../core/gateway/session.ts'
import type { RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { foldTurn } from '../../core/turn.ts'
import type { GatewayChange } from '../../ports/gateway-store.ts'
import { answerApproval } from '../approvals/answer-approval.ts'
import { findOpenApproval } from '../approvals/approvals.ts'
import { requireApprover } from '../approvals/approver.ts'
import type { ServiceContext } from '../service-context.ts'
import type { Speaker } from './chat-sessions.ts'
import type { GatewayScope } from './gateway-scope.ts'

/** What the person is told, and what changes in the chat. */
type PressResult = { text: string; isAccepted: boolean; changes: GatewayChange[] }

const refused = (text: string): PressResult => ({ text, isAccepted: false, changes: [] })

/** A button was pressed. The decision is committed first; a repetition of the same press finds it. */
export async function pressButton(
  { data, speaker }: { data: string; speaker: Speaker },
  scope: GatewayScope,
  context: ServiceContext,
): Promise<PressResult> {
  const press = parsePress(data)
  const { gateway } = context.deps.store
  const token = press && (await gateway.token(context.organizationId, press.token))
  if (!press || !token || token.account !== scope.lease.account) return refused('This button has no effect any more.')
  if (token.chatId !== speaker.chat.id) return refused('This button belongs to another chat.')
  if (!isApprover(speaker, scope)) return refused('You are not an approver of this bot.')
  return decide(token, { decision: press.decision, speaker }, context)
}

const isIn = ({ account, chatId }: ApprovalToken, { chat }: Speaker, { lease }: GatewayScope): boolean =>
  account === lease.account && chatId === chat.id

const isApprover = ({ chat, sender }: Speaker, { settings }: GatewayScope): boolean =>
  mayApprove(settings, { senderId: sender.id, isPrivate: chat.kind === 'private' })

type Deciding = { decision: 'approve' | 'deny'; speaker: Speaker }

async function decide(
  token: ApprovalToken,
  { decision, speaker }: Deciding,
  context: ServiceContext,
): Promise<PressResult> {
  const { deps, organizationId } = context
  const { sender } = speaker
  const run = await deps.store.runs.get(organizationId, token.runId)
  if (!run?.waiting && !token.decision) return refused('This approval is over: it expired, or was answered elsewhere.')
  const forbidden = decision === 'approve' && token.decision === undefined && (await approvalFault(token, context))
  if (forbidden) return refused(forbidden)
  const at = deps.clock.now()
  const by = `${sender.name} (${sender.id})`
  const decided = await deps.store.gateway.decide(organizationId, { token: token.token, decision, by, at })
  if (!decided?.decision) return refused('This button has no effect any more.')
  const isFirst = token.decision === undefined && decided.decidedAt === at && decided.decidedBy === by
  await carryOut(token.runId, context)
  const changes: GatewayChange[] = [
    { type: 'revise-outbound', key: token.messageKey, body: closedPrompt(decided, 'elsewhere'), at },
  ]
  const word = DECISION_WORDS[decided.decision]
  if (isFirst) return { text: `You ${word} ${token.tool}.`, isAccepted: true, changes }
  return { text: `Already ${word} by ${decided.decidedBy}.`, isAccepted: false, changes }
}

/** Why the call cannot be approved here: by policy another key than the one that asked approves it. */
async function approvalFault(
  { runId, callId, digest }: ApprovalToken,
  context: ServiceContext,
): Promise<string | undefined> {
  const turn = foldTurn((await context.deps.store.events.read(runId, 0)).map(({ event }) => event))
  try {
    requireApprover(turn, [{ callId, verdict: 'approve', digest }], context)
    return undefined
  } catch (fault) {
    if (fault instanceof Problem) return 'By the policy of this server this call is approved outside of the chat.'
    throw fault
  }
}

/** Once every call of the run is decided, the run continues. Idempotent. */
async function carryOut(runId: RunId, context: ServiceContext): Promise<void> {
  const tokens = await context.deps.store.gateway.tokensOf(context.organizationId, runId)
  if (tokens.some(({ decision }) => decision === undefined)) return
  const verdicts = tokens.map(({ callId, digest, decision, decidedBy }) =>
    decision === 'approve'
      ? { callId, verdict: 'approve' as const, digest }
      : { callId, verdict: 'deny' as const, reason: `denied by ${decidedBy} in the chat` },
  )
  try {
    await answerApproval({ runId, verdicts }, context)
  } catch (fault) {
    // Answered or cancelled elsewhere at the same moment: the prompt says how it ended.
    if (!(fault instanceof Problem)) throw fault
  }
}

/** `/approve` and `/deny`: all open calls of the session at once. */
export async function answerOpenCalls(
  { session, decision, speaker }: Deciding & { session: ChatSession | undefined },
  scope: GatewayScope,
  context: ServiceContext,
): Promise<PressResult> {
  const open = session && (await findOpenApproval(session.conversationId, context))
  if (!open) return refused('No call is waiting for approval.')
  if (!isApprover(speaker, scope)) return refused('You are not an approver of this bot.')
  const tokens = await context.deps.store.gateway.tokensOf(context.organizationId, open.runId)
  const undecided = tokens.filter((token) => token.decision === undefined)
  if (undecided.length === 0) {
    await carryOut(open.runId, context)
    return refused('The question was not asked here yet. Try again in a moment.')
  }
  const here = undecided.filter((token) => askingKeyOf(token) === undefined || isIn(token, speaker, scope))
  if (here.length === 0)
    return refused(`An approver decides about it in another chat. ${scope.commandPrefix}stop ends the turn.`)
  const results: PressResult[] = []
  for (const token of here) results.push(await decide(token, { decision, speaker }, context))
  return {
    text: results.map(({ text }) => text).join('\n'),
    isAccepted: results.some(({ isAccepted }) => isAccepted),
    changes: results.flatMap(({ changes }) => changes),
  }
}
