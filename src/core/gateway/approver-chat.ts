import type { GatewayAccount } from './account.ts'
import type { ApprovalToken } from './approval-token.ts'
import type { OutboundRow } from './outbound.ts'
import type { Delivery } from './session.ts'
import type { ApproverChat } from './settings.ts'

/** Longer than a restart and a takeover: an account that is away for less is waited for. */
const PATIENCE_MS = 120_000

const PREFIX = 'approval/'

/** The key of the prompt at its account. `askingKey`: of the message that waits in the chat that asked. */
export const elsewhereKey = (askingKey: string): string => `${PREFIX}${askingKey}`

/** The message in the chat that asked, while another chat has the buttons. Undefined: it has them itself. */
export const askingKeyOf = ({ messageKey }: Pick<ApprovalToken, 'messageKey'>): string | undefined =>
  messageKey.startsWith(PREFIX) ? messageKey.slice(PREFIX.length) : undefined

/** A call that the chat of the approvers itself caused is asked about there, like any other. */
export const isElsewhere = (chat: ApproverChat | undefined, delivery: Pick<Delivery, 'account' | 'chatId'>) =>
  chat !== undefined && (chat.account !== delivery.account || chat.chatId !== delivery.chatId)

/** Why an account cannot ask, in words; `since`: from when on it should have been able to. */
export function absenceOf(
  account: Pick<GatewayAccount, 'name' | 'state' | 'detail' | 'lastSuccessAt'> | undefined,
  { name, since, now }: { name: string; since: number; now: number },
): string | undefined {
  if (!account) return `there is no account "${name}"`
  if (account.state === 'up' || now - Math.max(account.lastSuccessAt ?? 0, since) <= PATIENCE_MS) return undefined
  return `the account "${name}" is not connected (${account.state})`
}

/** Why a prompt does not reach its chat, in words. */
export function undeliveredBecause(row: OutboundRow | undefined, now: number): string | undefined {
  if (!row) return 'the message with the question is gone'
  if (row.state === 'failed' || row.state === 'unknown') return `the approver's chat was not reached (${row.error})`
  const isLate = row.messageId === undefined && now - row.createdAt > PATIENCE_MS
  return isLate ? "the approver's chat has not been reached" : undefined
}
