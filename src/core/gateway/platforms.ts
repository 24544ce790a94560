/** Chat platforms that the gateway speaks. `gateway add` asks by `setup`; without config.yaml, `variables` are an account. */
const PLATFORMS = {
  telegram: {
    title: 'Telegram',
    variables: { token: 'TELEGRAM_BOT_TOKEN', apiRoot: 'TELEGRAM_API_ROOT' },
    ids: { pattern: '-?[0-9]{1,20}', example: '1001' },
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
    ids: { pattern: '[A-Z][A-Z0-9]{4,30}', example: 'U024BE7LH' },
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
    ids: { pattern: '[0-9]{1,20}', example: '100000000000001001' },
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
  matrix: {
    title: 'Matrix',
    variables: { token: 'MATRIX_ACCESS_TOKEN', apiRoot: 'MATRIX_HOMESERVER' },
    ids: { pattern: '[@!][^ :]+(:[^ ]+)?', example: '@ada:example.org' },
    setup: {
      first: [
        'Register an account for the bot at a homeserver, and log in as it once to copy its access token',
        '(in Element: Settings, Help & About, Access Token; close the window without logging out).',
      ],
      asks: [{ key: 'api_root', question: 'Address of the homeserver (https://…)' }],
      secrets: [{ key: 'token', question: 'Access token of the bot' }],
      next: {
        greet:
          'Invite @BOT to a room without encryption, and write there. It shows you a pairing code. (It says so where it cannot read.)',
        group:
          'For a group: invite @BOT, write `@BOT !whoami` there, and put the id of the room under `groups` in config.yaml.',
      },
    },
  },
} as const satisfies Record<string, Platform>

type Platform = { title: string; variables: AccountVariables; ids: PlatformIds; setup: AccountSetup }

/** How the platform writes the ids of people and chats. `pattern`: a regular expression without anchors. */
type PlatformIds = { pattern: string; example: string }

/** Environment variables of an account. `token`: implies one. `appToken`: where the connection has a token of its own. */
type AccountVariables = { token: string; apiRoot: string; appToken?: string }

/** What a person does for an account, in its order. BOT is the name of the bot. */
export type AccountSetup = {
  /** What to do at the platform first. */
  first: readonly string[]
  /** Keys of config.yaml that are no secrets and have no default, with the question for each. */
  asks?: readonly { key: string; question: string }[]
  /** Keys of config.yaml, with the question for each. */
  secrets: readonly { key: string; question: string }[]
  /** What to do when the account is written. */
  next: { greet: string; group: string }
}

export type PlatformName = keyof typeof PLATFORMS

export const PLATFORM_NAMES = Object.keys(PLATFORMS) as PlatformName[]

export const variablesOf = (platform: PlatformName): AccountVariables => PLATFORMS[platform].variables

/** The variables of all platforms that imply an account, or say where its API is, for messages. */
export const variableNames = (key: 'token' | 'apiRoot'): string[] =>
  PLATFORM_NAMES.map((platform) => variablesOf(platform)[key])

export const PLATFORM_IDS: readonly PlatformIds[] = Object.values(PLATFORMS).map(({ ids }) => ids)

export const titleOf = (platform: PlatformName): string => PLATFORMS[platform].title

export const setupOf = (platform: PlatformName): AccountSetup => PLATFORMS[platform].setup
