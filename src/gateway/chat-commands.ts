import { CHAT_COMMANDS, type ChatCommand, type ChatCommandName } from '../core/gateway/chat-command.ts'
import type { InboundRow } from '../core/gateway/inbound.ts'
import { BUSY_MODES, type BusyMode } from '../core/gateway/settings.ts'
import type { JsonObject } from '../core/json.ts'
import { EFFORTS, modelSettingsOf } from '../core/model-settings.ts'
import { Problem } from '../core/problem.ts'
import type { GatewayChange } from '../ports/gateway-store.ts'
import { useModel } from '../service/conversations/conversation-model.ts'
import { requireConversationById, updateConversation } from '../service/conversations/conversations.ts'
import { answerOpenCalls } from '../service/gateway/chat-approvals.ts'
import {
  beginNewSession,
  busyModeOf,
  findSession,
  type OpenSession,
  openSession,
  type Speaker,
  stopSession,
} from '../service/gateway/chat-sessions.ts'
import { acceptLink, offerLink } from '../service/gateway/identities.ts'
import { listRuns } from '../service/runs/runs.ts'
import type { AccountDeps } from './account-deps.ts'

type CommandCall = { row: InboundRow; speaker: Speaker; deps: AccountDeps }

/** The reply, and what is written in the commit that ends the command. */
type CommandResult = { text: string; changes: GatewayChange[] }

const say = (text: string): CommandResult => ({ text, changes: [] })

const COMMANDS: Record<ChatCommandName, (rest: string, call: CommandCall) => Promise<CommandResult>> = {
  help: async (_, { deps }) =>
    say(
      [
        'I am an agent. Write to me, or use a command:',
        ...Object.entries(CHAT_COMMANDS).map(([name, about]) => `${deps.scope.commandPrefix}${name}: ${about}`),
      ].join('\n'),
    ),
  new: beginNew,
  stop,
  status,
  model: changeModel,
  reasoning: changeReasoning,
  approve: (_, call) => answer('approve', call),
  deny: (_, call) => answer('deny', call),
  queue: changeBusyMode,
  link,
  whoami: async (_, { speaker: { chat, sender } }) =>
    say(
      [`You: ${sender.name}, id ${sender.id}`, `This chat: ${chat.kind}, id ${chat.id}`, ...threadLine(chat)].join(
        '\n',
      ),
    ),
}

export async function runCommand({ name, rest }: ChatCommand, call: CommandCall): Promise<CommandResult> {
  try {
    return await COMMANDS[name](rest, call)
  } catch (fault) {
    // A mistake of the person, such as an unknown model.
    if (fault instanceof Problem) return say(fault.message)
    throw fault
  }
}

/** In a group other people would see the code. */
async function link(rest: string, { speaker, deps: { scope, context } }: CommandCall): Promise<CommandResult> {
  if (speaker.chat.kind !== 'private') return say(`Write ${scope.commandPrefix}link to me in a private chat.`)
  return rest === '' ? offerLink(speaker, scope, context) : acceptLink({ speaker, code: rest }, scope, context)
}

const threadLine = ({ thread }: Speaker['chat']): string[] => (thread === undefined ? [] : [`This topic: id ${thread}`])

async function beginNew(_: string, { row, speaker, deps }: CommandCall): Promise<CommandResult> {
  const place = { scope: deps.scope, lane: row.lane, number: row.number }
  const fresh = await beginNewSession(speaker, place, deps.context)
  if (!fresh)
    return say('The agent of this bot does not exist. Its owner has to name another one in the configuration.')
  const kept =
    fresh.processes === 'kept' ? '\nThe former conversation waits for an approval and keeps its processes.' : ''
  return { text: `A new conversation with ${fresh.agent.name} begins.${kept}`, changes: fresh.changes }
}

async function stop(_: string, { row, speaker, deps }: CommandCall): Promise<CommandResult> {
  const { scope, context } = deps
  const session = await findSession(speaker, scope, context)
  const count = session ? await stopSession(session, context) : 0
  const at = context.deps.clock.now()
  const dropped: GatewayChange = { type: 'drop-lane', lane: row.lane, before: row.number, at }
  return { text: count === 0 ? 'Nothing is running.' : 'Stopping.', changes: [dropped] }
}

async function status(_: string, { speaker, deps }: CommandCall): Promise<CommandResult> {
  const { scope, context } = deps
  const opened = await knownSession(speaker, deps)
  if (!opened) return say('There is no conversation yet. Write to me to begin one.')
  const { session, agent } = opened
  const conversation = await requireConversationById(session.conversationId, context)
  const { conversationId } = session
  const active = await listRuns({ conversationId, statuses: ['created', 'running'] }, 100, context)
  const waiting = await listRuns({ conversationId, waiting: true }, 1, context)
  const running = active.filter((run) => run.status === 'running').length
  const state = waiting.length > 0 ? 'waiting for an approval' : running > 0 ? 'working' : 'idle'
  return say(
    [
      `Agent: ${agent.name}`,
      `Model: ${conversation.details?.model ?? agent.model}`,
      `State: ${state}, ${active.length - running} waiting behind`,
      `A message while I work: ${busyModeOf(session, scope.settings, speaker.chat)}`,
      `Conversation: ${conversationId}`,
    ].join('\n'),
  )
}

async function changeModel(rest: string, { speaker, deps }: CommandCall): Promise<CommandResult> {
  const opened = await storedSession(speaker, deps)
  if ('text' in opened) return opened
  const { session, agent } = opened
  const conversation = await requireConversationById(session.conversationId, deps.context)
  if (rest === '') return say(`The model is ${conversation.details?.model ?? agent.model}.`)
  const changed = await useModel(conversation.id, rest === 'default' ? undefined : rest, deps.context)
  return { text: `The next turns use ${changed.details?.model ?? agent.model}.`, changes: opened.changes }
}

const EFFORT_WORDS = ['off', ...EFFORTS.filter((effort) => effort !== 'none'), 'default'] as const

async function changeReasoning(rest: string, { speaker, deps }: CommandCall): Promise<CommandResult> {
  const opened = await storedSession(speaker, deps)
  if ('text' in opened) return opened
  const conversation = await requireConversationById(opened.session.conversationId, deps.context)
  if (rest === '') {
    const effort = modelSettingsOf(opened.agent, conversation)?.effort
    return say(
      `Reasoning: ${effort === 'none' ? 'off' : (effort ?? 'as the model chooses')}. ${deps.scope.commandPrefix}reasoning ${EFFORT_WORDS.join(' | ')}`,
    )
  }
  if (!EFFORT_WORDS.some((word) => word === rest))
    return say(`"${rest}" is not a reasoning effort. Use one of: ${EFFORT_WORDS.join(', ')}.`)
  await updateConversation(
    conversation.id,
    {
      details: (before) => {
        const { wire = {}, ...kept } = before
        const { effort: _, ...settings } = objectOf(objectOf(wire).model_settings)
        const effort = rest === 'off' ? 'none' : rest
        const chosen = rest === 'default' ? settings : { ...settings, effort }
        return { ...kept, wire: { ...objectOf(wire), model_settings: chosen } }
      },
    },
    deps.context,
  )
  return {
    text: rest === 'default' ? 'The next turns reason as the agent says.' : `The next turns reason: ${rest}.`,
    changes: opened.changes,
  }
}

const objectOf = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}

async function changeBusyMode(rest: string, { speaker, deps }: CommandCall): Promise<CommandResult> {
  const opened = await storedSession(speaker, deps)
  if ('text' in opened) return opened
  const { session } = opened
  if (rest === '')
    return say(
      `A message while I work: ${busyModeOf(session, deps.scope.settings, speaker.chat)}. ${deps.scope.commandPrefix}queue ${BUSY_MODES.join(' | ')}`,
    )
  const mode = BUSY_MODES.find((one) => one === rest)
  if (!mode) return say(`"${rest}" is not possible. Use one of: ${BUSY_MODES.join(', ')}.`)
  return { text: BUSY_TEXT[mode], changes: [{ type: 'save-session', session: { ...session, busy: mode } }] }
}

const BUSY_TEXT: Record<BusyMode, string> = {
  queue: 'A message while I work waits for its turn.',
  steer: 'A message while I work joins what I am doing.',
  interrupt: 'A message while I work stops what I am doing and comes next.',
}

async function answer(decision: 'approve' | 'deny', { speaker, deps }: CommandCall): Promise<CommandResult> {
  const session = await findSession(speaker, deps.scope, deps.context)
  const { text, changes } = await answerOpenCalls({ session, decision, speaker }, deps.scope, deps.context)
  return { text, changes }
}

async function knownSession(speaker: Speaker, { scope, context }: AccountDeps): Promise<OpenSession | undefined> {
  return (await findSession(speaker, scope, context)) ? openSession(speaker, scope, context) : undefined
}

/** The session of the speaker; a new one is stored with the end of the command. */
async function storedSession(
  speaker: Speaker,
  { scope, context }: AccountDeps,
): Promise<(OpenSession & { changes: GatewayChange[] }) | CommandResult> {
  const opened = await openSession(speaker, scope, context)
  if (!opened)
    return say('The agent of this bot does not exist. Its owner has to name another one in the configuration.')
  return { ...opened, changes: opened.isNew ? [{ type: 'save-session', session: opened.session }] : [] }
}
