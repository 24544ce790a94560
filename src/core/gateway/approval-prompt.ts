import type { ToolCall } from '../tool-call.ts'
import { type ApprovalToken, DECISION_WORDS, pressData } from './approval-token.ts'
import type { OutboundBody } from './outbound.ts'

/** Arguments are data of a model: shown in a code block, and shortened. */
const MOST_ARGUMENTS = 1_500

const askedLines = ({ tool, input, askedBecause }: Pick<ToolCall, 'tool' | 'input' | 'askedBecause'>): string => {
  const text = JSON.stringify(input, null, 2).replaceAll('```', "'''")
  const shown = text.length > MOST_ARGUMENTS ? `${text.slice(0, MOST_ARGUMENTS).toWellFormed()}\n…` : text
  const why = askedBecause ? `\n${askedBecause}` : ''
  return `**${tool}** needs your approval.${why}\n\`\`\`\n${shown}\n\`\`\``
}

export const promptBody = (
  call: Pick<ToolCall, 'tool' | 'input' | 'askedBecause'>,
  { token, note }: { token: string; note: string },
): OutboundBody => ({
  text: `🔐 ${askedLines(call)}\n${note}`,
  buttons: [
    { label: '✅ Approve', data: pressData(token, 'approve') },
    { label: '❌ Deny', data: pressData(token, 'deny') },
  ],
})

/** What the chat that asked says while another one is asked. */
export const waitingLine = ({ tool }: Pick<ToolCall, 'tool'>): OutboundBody => ({
  text: `🔐 **${tool}** waits for an approver, who was asked in another chat.`,
})

/** The prompt in the approver's chat once the chat that asked is asked instead. */
export const takenBack = ({ tool }: Pick<ToolCall, 'tool'>): OutboundBody => ({
  text: `↩️ **${tool}**: this chat could not be asked, so the chat that the call came from is.`,
})

/** The prompt after its end. Without buttons, so that it cannot be pressed again. */
export function closedPrompt(
  { tool, decision, decidedBy }: Pick<ApprovalToken, 'tool' | 'decision' | 'decidedBy'>,
  otherwise: 'elsewhere' | 'expired' | 'cancelled',
): OutboundBody {
  if (decision) {
    const icon = decision === 'approve' ? '✅' : '❌'
    return { text: `${icon} **${tool}** was ${DECISION_WORDS[decision]} by ${decidedBy ?? 'somebody'}.` }
  }
  return { text: `${CLOSED_ICONS[otherwise]} **${tool}**: ${CLOSED_WORDS[otherwise]}` }
}

const CLOSED_ICONS = { elsewhere: '☑️', expired: '⌛', cancelled: '⏹' } as const
const CLOSED_WORDS = {
  elsewhere: 'answered outside of this chat.',
  expired: 'the approval expired, so the call was not made.',
  cancelled: 'stopped, so the call was not made.',
} as const
