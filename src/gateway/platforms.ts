import type { PlatformName } from '../core/gateway/platforms.ts'
import type { AccountSettings } from '../core/gateway/settings.ts'
import type { BotIdentity, PlatformConnection } from '../ports/platform.ts'

/** `known`: who the bot was when it last connected, to read updates that were stored then. */
export type OpenPlatform = (settings: AccountSettings, known?: BotIdentity) => Promise<PlatformConnection>

/** One line for each platform. Its library is loaded with the first account that is configured. */
const OPEN: Record<PlatformName, OpenPlatform> = {
  telegram: async (...given) => (await import('./telegram/telegram.ts')).openTelegram(...given),
  slack: async (...given) => (await import('./slack/slack.ts')).openSlack(...given),
  discord: async (...given) => (await import('./discord/discord.ts')).openDiscord(...given),
  matrix: async (...given) => (await import('./matrix/matrix.ts')).openMatrix(...given),
}

export const openPlatform: OpenPlatform = (settings, known) => OPEN[settings.platform](settings, known)
