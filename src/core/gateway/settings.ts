import type { AdmissionPolicy } from '../admission.ts'
import type { PlatformName } from './platforms.ts'
import type { Routing } from './session.ts'

/** Who may talk to the bot in private chats. */
export const ACCESS_POLICIES = ['pairing', 'allowlist', 'open', 'disabled'] as const
type AccessPolicy = (typeof ACCESS_POLICIES)[number]

/** What a message does while a turn runs. */
export const BUSY_MODES = ['queue', 'steer', 'interrupt'] as const satisfies readonly AdmissionPolicy[]
export type BusyMode = (typeof BUSY_MODES)[number]

/** Settings of one chat; absent ones are those of its account. */
export type ChatSettings = {
  agent?: string
  /** Whether only messages that mention the bot are for it. */
  mention?: boolean
  /** Ids of people who may talk in this group; `*` allows all people. */
  allow?: string[]
  busy?: BusyMode
  routing?: Routing
  tools?: string
  unprompted?: boolean
}

/** A chat of approvers, which may be at another account. */
export type ApproverChat = { account: string; chatId: string; isPrivate: boolean }

/** One account of the gateway as configured. Secrets are in it: never log it. */
export type AccountSettings = {
  platform: PlatformName
  agent?: string
  apiRoot?: string
  token?: string
  /** With which Slack lets the server connect. */
  appToken?: string
  access: AccessPolicy
  allow: string[]
  groups: Record<string, ChatSettings>
  approvers: string[]
  /** Where approvals are asked for; absent: in the chat that asked. */
  approvalsTo?: ApproverChat
  busy: BusyMode
  routing: Routing
  /** Whether chats receive the outcome of runs that they did not start; absent: they do. */
  unprompted?: boolean
  /** The name of a toolset. */
  tools?: string
  /** Names of the tools that runs of this account may use; from `tools`. */
  toolsets: Record<string, string[]>
  transcription?: string
  webhookUrl?: string
  webhookListen?: string
  webhookSecret?: string
}
