import type { Agent, Conversation } from '../../core/agent.ts'
import { textOf } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { listConversations } from '../../service/conversations/conversations.ts'
import { listMessages } from '../../service/messages/messages.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { shortId } from '../render/short-id.ts'

export type ListedConversation = { conversation: Conversation; title: string }

/** Messages that are read to find the first words of a person. */
const TITLE_MESSAGES = 5
const NO_TITLE = '(no messages yet)'

/** The conversations of the agent, the one with the newest message first. */
export async function readConversations({
  agent,
  context,
}: {
  agent: Agent
  context: ServiceContext
}): Promise<ListedConversation[]> {
  const all = (await listConversations(agent, context)).filter(({ details }) => !details?.hidden)
  const newest = all.sort((one, other) => spokenAt(other) - spokenAt(one))
  return Promise.all(
    newest.map(async (conversation) => ({ conversation, title: await titleOf(conversation, context) })),
  )
}

export const spokenAt = ({ lastMessageAt, createdAt }: Conversation): number => lastMessageAt ?? createdAt

/** The title that was given to the conversation, or the first words of its user. */
export async function titleOf({ id, details }: Conversation, context: ServiceContext): Promise<string> {
  if (details?.summary) return oneLine(details.summary)
  const messages = await listMessages(id, { limit: TITLE_MESSAGES, take: 'oldest' }, context)
  const said = messages.flatMap(({ body }) => (body.role === 'user' ? [textOf(body.content)] : []))
  return oneLine(said.find((text) => text.trim() !== '') ?? NO_TITLE)
}

const oneLine = (text: string): string => text.trim().replace(/\s+/g, ' ')

/** By its number in the list, the beginning of its id, or its title. An ambiguous word is refused. */
export function requireListed(which: string, listed: readonly ListedConversation[]): Conversation {
  const byNumber = /^\d{1,4}$/.test(which) ? listed[Number(which) - 1] : undefined
  if (byNumber) return byNumber.conversation
  const wanted = which.toLowerCase()
  const rules: ((one: ListedConversation) => boolean)[] = [
    ({ conversation: { id } }) => id.startsWith(wanted) || id.slice('conv-'.length).startsWith(wanted),
    ({ title }) => title.toLowerCase() === wanted,
    ({ title }) => title.toLowerCase().startsWith(wanted),
    ({ title }) => title.toLowerCase().includes(wanted),
  ]
  for (const rule of rules) {
    const [found, ...others] = listed.filter(rule)
    if (found && others.length === 0) return found.conversation
    if (found) {
      const ids = [found, ...others].map(({ conversation }) => shortId(conversation.id)).join(', ')
      throw new Problem(
        'invalid',
        `"${which}" means more than one conversation: ${ids}. Use the number or the id of one.`,
      )
    }
  }
  throw new Problem('not-found', `There is no conversation "${which}". /conversations lists them.`)
}
