import type { Agent, Conversation } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import { listAgents, requireAgent } from '../../service/agents/agents.ts'
import { type ConversationOverview, conversationOverview } from '../../service/conversations/conversation-overview.ts'
import { listConversations, requireConversationAndAgent } from '../../service/conversations/conversations.ts'
import { listMessages } from '../../service/messages/messages.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { withHome } from '../home-session.ts'
import { requireConversationNamed } from '../pick-conversation.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { costCell } from '../render/bill.ts'
import { renderMessage } from '../render/message.ts'
import { ageText, count } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { printFields, printTable } from '../render/table.ts'
import { messageJson, timeJson } from '../run-json.ts'
import { safeName, safeText } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'

type ListFlags = JsonFlag & { agent?: string; limit: string; archived?: boolean }

type Listed = { agent: Agent; conversation: Conversation } & ConversationOverview

/** Also the default conversations, which belong to their agents and are in no list of the API. */
export const listAll = ({ agent: named, limit, archived, json }: ListFlags, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const most = wholeNumber('--limit', limit, { from: 1, to: 1000 })
    const agents = named === undefined ? await listAgents(context) : [await requireAgent(named, context)]
    const all = await Promise.all(
      agents.map(async (agent) =>
        (await listConversations(agent, context)).map((conversation) => ({ agent, conversation })),
      ),
    )
    const wanted = all
      .flat()
      .filter(({ conversation }) => (conversation.archivedAt !== undefined) === (archived === true))
      .sort((a, b) => activeAt(b.conversation) - activeAt(a.conversation))
    const shown: Listed[] = await Promise.all(
      wanted
        .slice(0, most)
        .map(async (one) => ({ ...one, ...(await conversationOverview(one.conversation, context)) })),
    )
    if (json) return printJson(out, shown.map(conversationJson))
    if (shown.length === 0) return out.line(archived ? 'No archived conversations.' : 'No conversations yet.')
    const now = context.deps.clock.now()
    printTable(
      shown,
      [
        {
          title: 'ID',
          text: ({ conversation }) => conversation.id,
          short: ({ conversation }) => shortId(conversation.id),
        },
        { title: 'AGENT', text: ({ agent }) => agent.name, paint: 'bold', shrinksTo: 8 },
        { title: 'ABOUT', text: titleOf, shrinksTo: 12, longest: 80 },
        { title: 'ACTIVE', text: ({ conversation }) => `${ageText(now - activeAt(conversation))} ago` },
        { title: 'MESSAGES', text: ({ messages }) => `${messages}`, align: 'right' },
        { title: 'COST', text: ({ cost }) => costCell(cost), align: 'right' },
      ],
      out,
    )
    const more = wanted.length - shown.length
    if (more > 0) out.line(`… and ${more} more; --limit shows them.`)
  })

const activeAt = ({ lastMessageAt, createdAt }: Conversation): number => lastMessageAt ?? createdAt

const titleOf = ({ conversation, firstWords }: Listed): string =>
  (conversation.details?.summary ?? firstWords) || (conversation.isDefault ? '(default, empty)' : '(empty)')

export const show = (which: string, flags: JsonFlag & { messages: string }, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const limit = wholeNumber('--messages', flags.messages, { from: 0, to: 10_000 })
    const found = await requireConversationNamed(which, context)
    const listed = { ...found, ...(await conversationOverview(found.conversation, context)) }
    const messages = limit === 0 ? [] : await listMessages(found.conversation.id, { limit, take: 'newest' }, context)
    if (flags.json) return printJson(out, { ...conversationJson(listed), latest: messages.map(messageJson) })
    const { agent, conversation } = listed
    const now = context.deps.clock.now()
    out.line(
      `${out.look.paint.bold(safeText(titleOf(listed)).replaceAll(/\s+/g, ' ').slice(0, 200))} (${conversation.id})`,
    )
    printFields(
      [
        ['agent', `${safeName(agent.name)} (${agent.id})${conversation.isDefault ? ', its default conversation' : ''}`],
        ['model', conversation.details?.model],
        ['messages', `${listed.messages}, the model sees those from ${conversation.contextStart} on`],
        ['cost', costCell(listed.cost)],
        ['created', `${ageText(now - conversation.createdAt)} ago`],
        ['archived', conversation.archivedAt === undefined ? '' : `${ageText(now - conversation.archivedAt)} ago`],
        ['description', conversation.details?.description && safeText(conversation.details.description)],
      ],
      out,
    )
    if (messages.length > 0) out.line()
    for (const message of messages) for (const line of renderMessage(message, out.look)) out.line(line)
  })

type NewFlags = JsonFlag & { agent: string; title?: string; model?: string }

export const create = (flags: NewFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const agent = await requireAgent(flags.agent, context)
    const body = defined({ summary: flags.title, model: flags.model })
    const { id } = await api.request<{ id: `conv-${string}` }>('POST', `/v1/conversations/?agent_id=${agent.id}`, body)
    await printOne(id, `Created ${id} with ${safeName(agent.name)}.`, { context, flags, cli })
  })

type ChangeFlags = JsonFlag & {
  title?: string
  description?: string
  model?: string
  archive?: boolean
  unarchive?: boolean
}

export const change = (which: string, flags: ChangeFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const { conversation } = await requireConversationNamed(which, context)
    const { title, description, model, archive, unarchive } = flags
    if (archive && unarchive) throw new Problem('invalid', 'Use only one of --archive and --unarchive.')
    const body = defined({
      archived: archive ? true : unarchive ? false : undefined,
      summary: title,
      description,
      model: model === 'none' ? null : model,
    })
    if (Object.keys(body).length === 0)
      throw new Problem('invalid', 'Nothing to change. Use --title, --description, --model, --archive or --unarchive.')
    await api.request('PATCH', `/v1/conversations/${conversation.id}`, body)
    await printOne(conversation.id, `Updated ${conversation.id}: ${Object.keys(body).join(', ')}.`, {
      context,
      flags,
      cli,
    })
  })

export const remove = (which: string, flags: JsonFlag & { yes?: boolean }, cli: CliContext): Promise<number> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const { agent, conversation } = await requireConversationNamed(which, context)
    const { id, nextPosition, isDefault } = conversation
    if (isDefault)
      throw new Problem(
        'invalid',
        `${id} is the default conversation of ${agent.name} and cannot be deleted. \`holdfast conversations reset ${id}\` empties what the model sees; \`holdfast agents delete\` deletes the agent.`,
      )
    const what = `${id} of ${safeName(agent.name)}`
    const consequence = `This deletes ${count(nextPosition, 'message')}, its runs and its workspace.`
    if (!(await confirmRemoval({ verb: 'Delete', what, consequence }, flags, cli))) return 1
    await api.request('DELETE', `/v1/conversations/${id}`)
    printResult(cli, flags, { sentence: `Deleted ${what}.`, value: { id, agent_id: agent.id, deleted: true } })
    return 0
  })

export const fork = (
  which: string,
  flags: JsonFlag & { at?: string; title?: string },
  cli: CliContext,
): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const { conversation } = await requireConversationNamed(which, context)
    const body = defined({ message_id: flags.at })
    const made = await api.request<{ id: `conv-${string}` }>('POST', `/v1/conversations/${conversation.id}/fork`, body)
    if (flags.title !== undefined) await api.request('PATCH', `/v1/conversations/${made.id}`, { summary: flags.title })
    await printOne(made.id, `Forked ${conversation.id} as ${made.id}.`, { context, flags, cli })
  })

/** A summary is a run, so this process runs turns unless a server does. */
export const compact = (which: string, flags: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'turns', async ({ context, api }) => {
    const { conversation } = await requireConversationNamed(which, context)
    type Compacted = { summary: string; num_messages_before: number; num_messages_after: number }
    const done = await api.request<Compacted>('POST', `/v1/conversations/${conversation.id}/compact`, {})
    const { num_messages_before: before, num_messages_after: after } = done
    printResult(cli, flags, {
      sentence: `Summarized ${conversation.id}: the model now sees ${after} instead of ${before} messages. Nothing is deleted.\n${safeText(done.summary)}`,
      value: { id: conversation.id, ...done },
    })
  })

export const reset = (which: string, flags: JsonFlag & { yes?: boolean }, cli: CliContext): Promise<number> =>
  withHome(cli, 'turns', async ({ context, api }) => {
    const { agent, conversation } = await requireConversationNamed(which, context)
    if (!conversation.isDefault)
      throw new Problem(
        'invalid',
        `Only the default conversation of an agent can be reset. \`holdfast conversations new --agent ${agent.id}\` begins an empty one.`,
      )
    const what = `the conversation of ${safeName(agent.name)} (${conversation.id})`
    const consequence = 'The model forgets its messages; its memory stays, and the runs keep the past.'
    if (!(await confirmRemoval({ verb: 'Reset', what, consequence }, flags, cli))) return 1
    await api.request('PATCH', `/v1/agents/${agent.id}/reset-messages`, {})
    printResult(cli, flags, {
      sentence: `Reset ${what}.`,
      value: { id: conversation.id, agent_id: agent.id, reset: true },
    })
    return 0
  })

type PrintOptions = { context: ServiceContext; flags: JsonFlag; cli: CliContext }

async function printOne(
  id: Conversation['id'],
  sentence: string,
  { context, flags, cli }: PrintOptions,
): Promise<void> {
  const found = await requireConversationAndAgent(id, context)
  printResult(cli, flags, {
    sentence,
    value: conversationJson({ ...found, ...(await conversationOverview(found.conversation, context)) }),
  })
  if (!flags.json) cli.notes.line(`\`${commandLine(`chat --conversation ${shortId(id)}`)}\` continues it.`)
}

const conversationJson = ({ agent, conversation, firstWords, messages, cost }: Listed) => ({
  id: conversation.id,
  agent_id: agent.id,
  agent_name: agent.name,
  is_default: conversation.isDefault,
  title: conversation.details?.summary ?? null,
  first_words: firstWords,
  description: conversation.details?.description ?? null,
  model: conversation.details?.model ?? null,
  messages,
  cost_usd: cost ?? null,
  created_at: timeJson(conversation.createdAt),
  last_message_at: timeJson(conversation.lastMessageAt),
  archived_at: timeJson(conversation.archivedAt),
})
