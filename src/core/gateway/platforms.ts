/** Chat platforms that the gateway speaks, with the variables that configure an account without config.yaml. */
const PLATFORMS = {
  telegram: { title: 'Telegram', variables: { token: 'TELEGRAM_BOT_TOKEN', apiRoot: 'TELEGRAM_API_ROOT' } },
  slack: {
    title: 'Slack',
    variables: { token: 'SLACK_BOT_TOKEN', appToken: 'SLACK_APP_TOKEN', apiRoot: 'SLACK_API_ROOT' },
  },
} as const satisfies Record<string, { title: string; variables: AccountVariables }>

/** Environment variables of an account. `token`: implies one. `appToken`: where the connection has a token of its own. */
type AccountVariables = { token: string; apiRoot: string; appToken?: string }

export type PlatformName = keyof typeof PLATFORMS

export const PLATFORM_NAMES = Object.keys(PLATFORMS) as PlatformName[]

export const variablesOf = (platform: PlatformName): AccountVariables => PLATFORMS[platform].variables

export const titleOf = (platform: PlatformName): string => PLATFORMS[platform].title
