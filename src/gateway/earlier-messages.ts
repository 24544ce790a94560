import type { Incoming } from '../core/gateway/incoming.ts'
import { addressOf } from '../core/gateway/session.ts'
import { findSession } from '../service/gateway/chat-sessions.ts'
import { listRuns } from '../service/runs/runs.ts'
import type { AccountDeps } from './account-deps.ts'

type IncomingMessage = Extract<Incoming, { type: 'message' }>

const MOST_MESSAGES = 20
const MOST_TEXT = 500

/**
 * What was said in a thread before the bot was mentioned there: data for the first run of its conversation, so that it is
 * given once. Undefined: nothing was.
 */
export async function earlierMessages(message: IncomingMessage, deps: AccountDeps): Promise<string | undefined> {
  const { chat, sender, messageId } = message
  const { platform, scope, context, signal } = deps
  const isInThread = chat.kind === 'group' && chat.thread !== undefined && chat.thread !== messageId
  if (!isInThread || !platform.earlier) return undefined
  const session = await findSession({ chat, sender }, scope, context)
  const { conversationId } = session ?? {}
  if (conversationId && (await listRuns({ conversationId }, 1, context)).length > 0) return undefined
  const place = { address: addressOf(chat), before: messageId, limit: MOST_MESSAGES }
  const read = await platform.earlier(place, signal)
  if (read.type === 'failed') return `[earlier messages of this thread: unavailable, ${read.failure.detail}]\n`
  if (read.messages.length === 0) return undefined
  const said = read.messages.map(({ from, text }) => ({ from: from ?? 'you', text: shortened(text) }))
  return `[earlier messages of this thread: ${JSON.stringify(said)}]\n`
}

const shortened = (text: string): string =>
  text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT).toWellFormed()}…` : text
