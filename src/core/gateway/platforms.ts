/** Chat platforms that the gateway speaks. `gateway add` asks by `setup`; without config.yaml, `variables` are an account. */
const PLATFORMS = {
  telegram: {
    title: 'Telegram',
    variables: { token: 'TELEGRAM_BOT_TOKEN', apiRoot: 'TELEGRAM_API_ROOT' },
    setup: {
      first: ['In Telegram, write /newbot to @BotFather. It asks for two names and answers with a token.'],
      secrets: [{ key: 'token', question: 'Token of the bot' }],
      next: {
        greet: 'Open https://t.me/BOT in Telegram and press Start. The bot shows you a pairing code.',
        group:
          'For a group: add the bot to it, write /whoami@BOT there, and put the id of the group under `groups` in config.yaml.',
      },
    },
  },
  slack: {
    title: 'Slack',
    variables: { token: 'SLACK_BOT_TOKEN', appToken: 'SLACK_APP_TOKEN', apiRoot: 'SLACK_API_ROOT' },
    setup: {
      first: [
        'At https://api.slack.com/apps, create an app from the manifest in docs/gateway.md and install it.',
        'Under "Basic Information", create an app-level token with the scope connections:write.',
      ],
      secrets: [
        { key: 'token', question: 'Bot token (xoxb-…)' },
        { key: 'app_token', question: 'App-level token (xapp-…)' },
      ],
      next: {
        greet: 'Write to @BOT in Slack, under Apps. It shows you a pairing code.',
        group:
          'For a channel: invite @BOT to it, write `@BOT whoami` there, and put the id under `groups` in config.yaml.',
      },
    },
  },
  discord: {
    title: 'Discord',
    variables: { token: 'DISCORD_BOT_TOKEN', apiRoot: 'DISCORD_API_ROOT' },
    setup: {
      first: [
        'At https://discord.com/developers/applications, create an application. Under Bot, enable "Message Content Intent".',
        'Reset the token there, and copy it.',
      ],
      secrets: [{ key: 'token', question: 'Token of the bot' }],
      next: {
        greet:
          'Under OAuth2, make a link with the scopes bot and applications.commands, and invite the bot. Write to BOT: it shows you a pairing code.',
        group: 'For a channel: write `@BOT /whoami` there, and put its id under `groups` in config.yaml.',
      },
    },
  },
} as const satisfies Record<string, { title: string; variables: AccountVariables; setup: AccountSetup }>

/** Environment variables of an account. `token`: implies one. `appToken`: where the connection has a token of its own. */
type AccountVariables = { token: string; apiRoot: string; appToken?: string }

/** What a person does for an account, in its order. BOT is the name of the bot. */
export type AccountSetup = {
  /** What to do at the platform first. */
  first: readonly string[]
  /** Keys of config.yaml, with the question for each. */
  secrets: readonly { key: string; question: string }[]
  /** What to do when the account is written. */
  next: { greet: string; group: string }
}

export type PlatformName = keyof typeof PLATFORMS

export const PLATFORM_NAMES = Object.keys(PLATFORMS) as PlatformName[]

export const variablesOf = (platform: PlatformName): AccountVariables => PLATFORMS[platform].variables

export const titleOf = (platform: PlatformName): string => PLATFORMS[platform].title

export const setupOf = (platform: PlatformName): AccountSetup => PLATFORMS[platform].setup
