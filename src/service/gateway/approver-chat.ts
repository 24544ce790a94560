import { promptBody, takenBack, waitingLine } from '../../core/gateway/approval-prompt.ts'
import { type ApprovalToken, newToken } from '../../core/gateway/approval-token.ts'
import {
  absenceOf,
  askingKeyOf,
  elsewhereKey,
  isElsewhere,
  undeliveredBecause,
} from '../../core/gateway/approver-chat.ts'
import type { OutboundBody } from '../../core/gateway/outbound.ts'
import type { Delivery } from '../../core/gateway/session.ts'
import type { ToolCall } from '../../core/tool-call.ts'
import type { GatewayChange } from '../../ports/gateway-store.ts'
import type { ServiceContext } from '../service-context.ts'
import type { GatewayScope } from './gateway-scope.ts'

/** Where a call is asked about: its token, what the chat that asked is told, and what is sent elsewhere. */
type Question = { token: ApprovalToken; body: OutboundBody; changes: GatewayChange[] }

/**
 * How a delivery asks about its calls: in the chat of approvers if the account has one that can be reached, and
 * otherwise in the chat that asked, which is told why. `askingKey`: of its message there.
 */
export async function newQuestions(
  delivery: Delivery,
  scope: GatewayScope,
  context: ServiceContext,
): Promise<(call: ToolCall, askingKey: string) => Question> {
  const { clock } = context.deps
  const { settings } = scope
  const chat = isElsewhere(settings.approvalsTo, delivery) ? settings.approvalsTo : undefined
  const absence = chat && (await absenceNow(chat.account, { since: 0, context }))
  if (!chat || absence !== undefined) return (call, key) => askHere(call, { delivery, key, absence, scope, context })
  return (call, askingKey) => {
    const key = elsewhereKey(askingKey)
    const { account, chatId, isPrivate } = chat
    const token = tokenFor(call, { delivery, account, chatId, messageKey: key }, context)
    const note = `Asked in the chat ${delivery.chatId} of the account "${delivery.account}".`
    const { organizationId, runId } = delivery
    const body = promptBody(call, { token: token.token, note })
    const message = { organizationId, account, key, chatId, isPrivate, runId, body, createdAt: clock.now() }
    return { token, body: waitingLine(call), changes: [{ type: 'add-outbound', message }] }
  }
}

type Here = {
  delivery: Delivery
  key: string
  absence: string | undefined
  scope: GatewayScope
  context: ServiceContext
}

function askHere(call: ToolCall, { delivery, key, absence, scope, context }: Here): Question {
  const { account, chatId } = delivery
  const token = tokenFor(call, { delivery, account, chatId, messageKey: key }, context)
  const why = absence === undefined ? '' : `⚠️ Asked here, because ${absence}.\n`
  const note = `${why}${scope.commandPrefix}approve or ${scope.commandPrefix}deny`
  return { token, body: promptBody(call, { token: token.token, note }), changes: [] }
}

type TokenPlace = { delivery: Delivery; account: string; chatId: string; messageKey: string }

const tokenFor = (
  { callId, digest, tool }: ToolCall,
  { delivery: { organizationId, runId }, ...place }: TokenPlace,
  { deps }: ServiceContext,
): ApprovalToken => ({
  token: newToken(deps.randomness.fraction),
  organizationId,
  runId,
  callId,
  digest,
  tool,
  createdAt: deps.clock.now(),
  ...place,
})

async function absenceNow(
  name: string,
  { since, context: { deps, organizationId } }: { since: number; context: ServiceContext },
): Promise<string | undefined> {
  const accounts = await deps.store.gateway.accounts(organizationId)
  const account = accounts.find((each) => each.name === name)
  return absenceOf(account, { name, since, now: deps.clock.now() })
}

/** Calls whose approvers cannot be reached any more are asked about in the chat that asked, with other tokens. */
export async function takeBackQuestions(
  { delivery, readCalls }: { delivery: Delivery; readCalls(): Promise<readonly ToolCall[]> },
  scope: GatewayScope,
  context: ServiceContext,
): Promise<GatewayChange[]> {
  const { deps, organizationId } = context
  const changes: GatewayChange[] = []
  for (const token of await deps.store.gateway.tokensOf(organizationId, delivery.runId)) {
    const askingKey = askingKeyOf(token)
    if (askingKey === undefined || token.decision !== undefined) continue
    const { account, messageKey, callId } = token
    const at = deps.clock.now()
    const row = await deps.store.gateway.outbound({ organizationId, account }, messageKey)
    const absence = undeliveredBecause(row, at) ?? (await absenceNow(account, { since: token.createdAt, context }))
    const call = absence === undefined ? undefined : (await readCalls()).find((each) => each.callId === callId)
    if (!call) continue
    const question = askHere(call, { delivery, key: askingKey, absence, scope, context })
    changes.push(
      { type: 'move-token', from: token.token, to: question.token },
      { type: 'revise-outbound', key: askingKey, body: question.body, at },
      { type: 'revise-outbound', account, key: messageKey, body: takenBack(call), at },
    )
  }
  return changes
}
