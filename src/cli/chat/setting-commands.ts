import type { Block } from '../../core/block.ts'
import { EFFORTS, modelSettingsOf } from '../../core/model-settings.ts'
import { Problem } from '../../core/problem.ts'
import { handleOf, parseTarget } from '../../core/target.ts'
import { blocksOf } from '../../service/agents/agent-blocks.ts'
import { listAgents } from '../../service/agents/agents.ts'
import { requireBlock } from '../../service/memory/blocks.ts'
import { targetsInUse } from '../../service/providers/models.ts'
import { keyAdvice, listProviders } from '../../service/providers/providers.ts'
import { findToolsByName } from '../../service/tools/tools.ts'
import { commandLine, runnable } from '../program-name.ts'
import { indented, safeName, safeText } from '../terminal.ts'
import { cutToWidth } from '../text-width.ts'
import { type ChatSession, modelOf } from './chat-session.ts'
import type { SlashCommand } from './slash-command.ts'

/** The words of `/reasoning`: the efforts, `off` for none, and `default` for what the agent says. */
const EFFORT_WORDS = ['off', ...EFFORTS.filter((effort) => effort !== 'none'), 'default'] as const

export const SETTING_COMMANDS: Record<string, SlashCommand> = {
  model: {
    usage: '[provider/model]',
    description: 'Show or change the model of this conversation. `default`: that of the agent.',
    run: changeModel,
    complete: async (chat) => [...(await knownHandles(chat)), 'default'],
  },
  reasoning: {
    usage: EFFORT_WORDS.join(' | '),
    description: 'How much the model reasons, from the next turn of this chat on.',
    run: changeEffort,
    complete: async () => EFFORT_WORDS,
  },
  tools: { description: 'Show the tools of the agent.', run: async (_, chat) => printTools(chat) },
  memory: {
    usage: '[label]',
    description: 'Show the memory blocks of the agent, or all of one.',
    run: printMemory,
    complete: async (chat) => (await readBlocks(chat)).map(({ label }) => label),
  },
}

async function changeModel(words: string, chat: ChatSession): Promise<undefined> {
  const { agent, conversation, screen, verbs } = chat
  const { bold, dim } = screen.look.paint
  const agentName = safeName(agent.name)
  if (words === '') {
    const own = conversation.details?.model
      ? `this conversation; ${agentName} has ${agent.model}`
      : `agent ${agentName}`
    screen.line(`  ${bold(safeText(modelOf(chat)))} ${dim(`(${own})`)}`)
    if (agent.fallback.length > 0) screen.line(dim(`  fails over to ${agent.fallback.join(', ')}`))
    screen.line(
      dim(`  /model provider/model changes it, for example ${(await knownHandles(chat)).slice(0, 3).join(', ')}.`),
    )
    return undefined
  }
  const handle = words === 'default' ? undefined : words
  chat.conversation = await verbs.setConversationModel(conversation, handle)
  screen.line(
    handle === undefined
      ? `  This conversation uses the model of ${agentName} again from its next turn on: ${bold(agent.model)}.`
      : `  This conversation uses ${bold(safeText(modelOf(chat)))} from its next turn on. Others of ${agentName} keep theirs.`,
  )
  await warnAboutProvider(chat)
  return undefined
}

/** The change has its effect, but the next turn would fail. */
async function warnAboutProvider(chat: ChatSession): Promise<void> {
  // The keys of a server are its own; it refuses what it cannot serve.
  if (chat.server) return
  const { provider: name } = parseTarget(modelOf(chat)) ?? {}
  const provider = (await listProviders(chat.context)).find((one) => one.name === name)
  if (!provider || provider.state === 'ready') return
  const { yellow } = chat.screen.look.paint
  const what = /^no/.test(provider.state) ? 'has no key' : `is ${provider.state}`
  chat.screen.line(
    `  ${yellow('!')} ${safeName(provider.name)} ${what} here. ${runnable(keyAdvice(provider, chat.context))}`,
  )
}

/** Models that an agent or the configuration uses, the current one first. */
async function knownHandles(chat: ChatSession): Promise<string[]> {
  const agents = await listAgents(chat.context)
  const used = targetsInUse({ agents, context: chat.context }).map(handleOf)
  return [...new Set([modelOf(chat), ...used])]
}

async function changeEffort(words: string, chat: ChatSession): Promise<undefined> {
  const { agent, conversation, screen } = chat
  if (words === '') {
    const stored = modelSettingsOf(agent, conversation)?.effort
    const from = chat.effort ? 'in this chat' : stored ? 'as the agent says' : 'as the model chooses'
    screen.line(
      `  Reasoning: ${wordOf(chat.effort ?? stored)} (${from}). /reasoning ${EFFORT_WORDS.join(' | ')} changes it.`,
    )
    return undefined
  }
  const effort = words === 'off' ? 'none' : EFFORTS.find((one) => one === words)
  if (!effort && words !== 'default')
    throw new Problem('invalid', `"${words}" is not a reasoning effort. Use one of: ${EFFORT_WORDS.join(', ')}.`)
  if (effort) chat.effort = effort
  else delete chat.effort
  screen.line(
    effort
      ? `  The next turns of this chat ask for reasoning: ${wordOf(effort)}. The line after a turn says if the model has no such setting.`
      : `  The next turns of this chat reason as ${safeName(agent.name)} says.`,
  )
  return undefined
}

const wordOf = (effort: string | undefined): string => (effort === 'none' ? 'off' : (effort ?? 'default'))

async function printTools({ agent, context, screen }: ChatSession): Promise<undefined> {
  const { bold, dim, yellow } = screen.look.paint
  const tools = await findToolsByName(agent.tools, context)
  for (const name of agent.tools) {
    const tool = tools.find((one) => one.name === name)
    const asks = agent.settings?.approvals?.[name] ?? tool?.needsApproval
    const about = tool ? firstSentence(tool.description) : 'not there any more'
    const text = `  ${safeName(name)}${asks ? ' (asks for approval)' : ''}: ${safeText(about)}`
    const cut = cutToWidth(text, screen.look.width)
    screen.line(
      cut.replace(safeName(name), bold(safeName(name))).replace('(asks for approval)', yellow('(asks for approval)')),
    )
  }
  if (agent.tools.length === 0)
    screen.line(dim(`  No tools. \`${commandLine('agents create --help')}\` says how an agent gets some.`))
  return undefined
}

const firstSentence = (text: string): string => text.trim().split(/(?<=\.)\s|\n/)[0] ?? ''

const SHOWN_LINES = 8

async function printMemory(label: string, chat: ChatSession): Promise<undefined> {
  const { screen, agent } = chat
  const { bold, dim } = screen.look.paint
  const blocks = await readBlocks(chat)
  const shown = label === '' ? blocks : blocks.filter((block) => block.label === label)
  if (blocks.length === 0) screen.line(`  ${safeName(agent.name)} has no memory blocks.`)
  else if (shown.length === 0)
    throw new Problem(
      'not-found',
      `${agent.name} has no memory block "${label}". It has: ${blocks.map((one) => one.label).join(', ')}.`,
    )
  for (const block of shown) {
    const { value, limit, readOnly, description } = block
    screen.line(
      `  ${bold(safeName(block.label))} ${dim(`${value.length} of ${limit} characters${readOnly ? ', read-only' : ''}`)}`,
    )
    if (description) screen.line(dim(`    ${safeText(description)}`))
    const lines = safeText(value).split('\n')
    const kept = label === '' ? lines.slice(0, SHOWN_LINES) : lines
    if (value !== '') screen.line(`    ${indented(kept.join('\n'), '    ')}`)
    else screen.line(dim('    (empty)'))
    if (kept.length < lines.length)
      screen.line(dim(`    … ${lines.length - kept.length} more lines: /memory ${safeName(block.label)}`))
  }
  return undefined
}

/** Those of the agent; copies that the conversation has for itself take their place. */
async function readBlocks({ agent, conversation, context }: ChatSession): Promise<Block[]> {
  const own = await Promise.all((conversation.details?.ownBlocks ?? []).map((id) => requireBlock(id, context)))
  const shared = (await blocksOf(agent, context)).filter(({ label }) => !own.some((block) => block.label === label))
  return [...own, ...shared]
}
