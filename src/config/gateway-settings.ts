import { defined } from '../core/defined.ts'
import { PLATFORM_NAMES, variableNames, variablesOf } from '../core/gateway/platforms.ts'
import { ROUTINGS } from '../core/gateway/session.ts'
import {
  ACCESS_POLICIES,
  type AccountSettings,
  type ApproverChat,
  BUSY_MODES,
  type ChatSettings,
} from '../core/gateway/settings.ts'
import { Problem } from '../core/problem.ts'
import type { Environment } from '../ports/environment.ts'
import { type SectionInput, setting, withDefaults } from './setting.ts'
import {
  anyText,
  headerText,
  httpUrl,
  inFileOnly,
  listOf,
  mapOf,
  modelHandle,
  oneOf,
  platformId,
  trueOrFalse,
} from './setting-kinds.ts'

/** `toolsets` of config.yaml. */
export const TOOLSETS = setting(mapOf(listOf(anyText)), {
  description: 'Names for lists of tools; an account of the gateway can be limited to one',
  defaultText: 'none',
})

const busyNote = 'What a message does while a turn runs: wait, join it, or stop it and come next'
const routingNote =
  'Which messages share a conversation: those of a chat or topic, of one person in it, of one person on all linked accounts (private chats), or of all chats'
const toolsNote = 'The toolset (`toolsets`) that limits the tools of the agent'

const unpromptedNote =
  'Whether chats receive the outcome of runs that they did not start: schedules, messages over the API, processes that ended'

function listed(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``)
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`
}

/** `gateway.<name>` of config.yaml: one bot on one platform. */
export const GATEWAY = {
  platform: setting(inFileOnly(oneOf(PLATFORM_NAMES)), { description: 'The chat platform', default: 'telegram' }),
  agent: setting(inFileOnly(anyText), {
    description: 'The agent that answers, by name or id',
    defaultText: 'the oldest agent, which is created if there is none',
  }),
  token: setting(inFileOnly(headerText), {
    description: 'The token of the bot',
    defaultText: `${listed(variableNames('token'))} of the environment`,
  }),
  app_token: setting(inFileOnly(headerText), {
    description: 'Slack: the app-level token, with which the server connects',
    defaultText: '`SLACK_APP_TOKEN` of the environment',
  }),
  api_root: setting(inFileOnly(httpUrl), {
    description: 'Where the API of the platform is',
    defaultText: `${listed(variableNames('apiRoot'))} of the environment, or that of the platform where it has one`,
  }),
  access: setting(inFileOnly(oneOf(ACCESS_POLICIES)), {
    description:
      'Who may talk in private chats: people who were paired, those in `allow`, all people, or none. ' +
      'People in `allow` may talk in each case but the last',
    default: 'pairing',
  }),
  allow: setting(inFileOnly(listOf(platformId)), {
    description: 'Ids of people who may talk; `"*"` allows all people',
    default: [],
    defaultText: 'none',
  }),
  approvers: setting(inFileOnly(listOf(platformId)), {
    description: 'Ids of people who may approve and deny calls',
    default: [],
    defaultText: 'in private chats their person, in groups none',
  }),
  busy: setting(inFileOnly(oneOf(BUSY_MODES)), { description: busyNote, default: 'queue' }),
  routing: setting(inFileOnly(oneOf(ROUTINGS)), { description: routingNote, default: 'per-chat' }),
  unprompted: setting(inFileOnly(trueOrFalse), { description: unpromptedNote, default: true }),
  tools: setting(inFileOnly(anyText), { description: toolsNote, defaultText: 'all tools of the agent' }),
  transcription: setting(inFileOnly(modelHandle), {
    description: 'The model that turns voice notes into text, at a provider with an OpenAI-shaped API',
    defaultText: 'none: the agent is told that a voice note came',
  }),
  webhook_url: setting(inFileOnly(httpUrl), {
    description: 'The public address at which the platform delivers updates, instead of polling',
    defaultText: 'none: polling',
  }),
  webhook_listen: setting(inFileOnly(anyText), {
    description: 'Where the server listens for them, in plain HTTP behind a TLS proxy',
    defaultText: '`127.0.0.1:8443`',
  }),
  webhook_secret: setting(inFileOnly(headerText), {
    description: 'What the platform sends along, so that others cannot; letters, digits, `_` and `-`',
    defaultText: 'none; a webhook needs one',
  }),
}

/** `gateway.<name>.approvals_to` of config.yaml. */
export const APPROVALS_TO = {
  account: setting(inFileOnly(anyText), {
    description: 'The account that asks: a name under `gateway`, this one or another',
    defaultText: 'none: the chat that the call came from is asked',
  }),
  chat: setting(inFileOnly(platformId), {
    description:
      'The chat that is asked: the id of one of the `approvers` of that account, or of a chat in its `groups`',
    defaultText: 'none; `account` needs one',
  }),
}

/** `gateway.<name>.groups.<id>` of config.yaml. */
export const GATEWAY_CHAT = {
  agent: setting(inFileOnly(anyText), { description: 'The agent of this chat', defaultText: 'that of the account' }),
  mention: setting(inFileOnly(trueOrFalse), {
    description: 'Whether only messages are heard that mention the bot or answer it',
    default: true,
  }),
  allow: setting(inFileOnly(listOf(platformId)), {
    description: 'Ids of people who may talk in this group; `"*"` allows all people',
    defaultText: '`allow` of the account',
  }),
  busy: setting(inFileOnly(oneOf(BUSY_MODES)), { description: busyNote, defaultText: 'that of the account' }),
  routing: setting(inFileOnly(oneOf(ROUTINGS)), { description: routingNote, defaultText: 'that of the account' }),
  unprompted: setting(inFileOnly(trueOrFalse), { description: unpromptedNote, defaultText: 'that of the account' }),
  tools: setting(inFileOnly(anyText), { description: toolsNote, defaultText: 'that of the account' }),
}

type AccountInput = SectionInput<typeof GATEWAY> & {
  approvals_to?: SectionInput<typeof APPROVALS_TO>
  groups?: Record<string, SectionInput<typeof GATEWAY_CHAT>>
}

type Given = { accounts: Record<string, AccountInput>; toolsets: Record<string, string[]>; environment: Environment }

/** The accounts of config.yaml. Without any, a token in the environment is an account with the name of its platform. */
export function gatewayAccounts({ accounts, toolsets, environment }: Given): Record<string, AccountSettings> {
  const implied = PLATFORM_NAMES.filter((platform) => environment[variablesOf(platform).token]?.trim())
  const named: Record<string, AccountInput> =
    Object.keys(accounts).length > 0
      ? accounts
      : Object.fromEntries(implied.map((platform) => [platform, { platform }] as const))
  return Object.fromEntries(
    Object.entries(named).map(([name, input]) => [name, accountOf(name, input, { named, toolsets, environment })]),
  )
}

function accountOf(
  name: string,
  { groups = {}, approvals_to: approvalsTo, ...input }: AccountInput,
  { named, toolsets, environment }: Omit<Given, 'accounts'> & { named: Given['accounts'] },
): AccountSettings {
  const values = withDefaults(GATEWAY, input)
  const variables = variablesOf(values.platform)
  const fromEnvironment = (name: string | undefined) => (name && environment[name]?.trim()) || undefined
  const chats = Object.fromEntries(Object.entries(groups).map(([chat, given]) => [chat, chatOf(given)]))
  for (const toolset of [values.tools, ...Object.values(chats).map(({ tools }) => tools)])
    if (toolset !== undefined && !(toolset in toolsets))
      throw new Problem('invalid', `config.yaml: gateway.${name} names the toolset "${toolset}". Add it to toolsets.`)
  return {
    platform: values.platform,
    access: values.access,
    allow: values.allow.map(String),
    approvers: values.approvers.map(String),
    groups: chats,
    busy: values.busy,
    routing: values.routing,
    unprompted: values.unprompted,
    toolsets,
    ...defined({
      agent: values.agent,
      token: values.token ?? fromEnvironment(variables.token),
      appToken: values.app_token ?? fromEnvironment(variables.appToken),
      apiRoot: values.api_root ?? fromEnvironment(variables.apiRoot),
      tools: values.tools,
      transcription: values.transcription,
      webhookUrl: values.webhook_url,
      webhookListen: values.webhook_listen,
      webhookSecret: values.webhook_secret,
      approvalsTo: approvalsTo && approverChat(name, approvalsTo, named),
    }),
  }
}

/** A wrong one would be noticed when the first call waits and is not asked about. */
function approverChat(
  name: string,
  { account, chat }: SectionInput<typeof APPROVALS_TO>,
  named: Given['accounts'],
): ApproverChat {
  const key = `config.yaml: gateway.${name}.approvals_to`
  if (account === undefined || chat === undefined)
    throw new Problem('invalid', `${key} needs both keys, account and chat.`)
  const chatId = String(chat)
  const target = Object.hasOwn(named, account) ? named[account] : undefined
  if (!target) {
    const known = Object.keys(named).join(', ')
    throw new Problem('invalid', `${key}.account names "${account}", which is not under gateway. There are: ${known}.`)
  }
  const { approvers } = withDefaults(GATEWAY, target)
  const isGroup = Object.hasOwn(target.groups ?? {}, chatId)
  const others = `gateway.${account}`
  if (target.platform === 'matrix' && !isGroup)
    throw new Problem('invalid', `${key}.chat: on Matrix it is the id of a room in ${others}.groups.`)
  if (approvers.length === 0)
    throw new Problem('invalid', `${key}: no person could decide there. Name who may in ${others}.approvers.`)
  if (chatId === '*' || (!isGroup && !approvers.map(String).includes(chatId)))
    throw new Problem(
      'invalid',
      `${key}.chat is "${chatId}", which is neither a person in ${others}.approvers nor a chat in ${others}.groups.`,
    )
  return { account, chatId, isPrivate: !isGroup }
}

const chatOf = ({ allow, ...given }: SectionInput<typeof GATEWAY_CHAT>): ChatSettings => ({
  ...given,
  ...defined({ allow: allow?.map(String) }),
})
