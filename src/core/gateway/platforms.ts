/**
 * Chat platforms that the gateway speaks, with the variables that configure an account without config.yaml. The first one of
 * `variables` decides whether there is one.
 */
const PLATFORMS = {
  telegram: { title: 'Telegram', variables: { token: 'TELEGRAM_BOT_TOKEN', apiRoot: 'TELEGRAM_API_ROOT' } },
} as const satisfies Record<string, { title: string; variables: AccountVariables }>

/** Environment variables of an account. */
type AccountVariables = { token: string; apiRoot: string }

export type PlatformName = keyof typeof PLATFORMS

export const PLATFORM_NAMES = Object.keys(PLATFORMS) as PlatformName[]

export const variablesOf = (platform: PlatformName): AccountVariables => PLATFORMS[platform].variables
