import type { CallFault } from '../../../src/simulator/call-fault.ts'
import { startDiscord } from '../../../src/simulator/discord/discord-server.ts'
import { startMatrix } from '../../../src/simulator/matrix/matrix-server.ts'
import { BOT, SERVER } from '../../../src/simulator/matrix/world.ts'
import { startSlack } from '../../../src/simulator/slack/slack-server.ts'
import { startTelegram } from '../../../src/simulator/telegram/telegram-server.ts'

/** A simulated platform under the kill harness: people write, and what the bot says is counted. */
export type KilledPlatform = {
  /** The accounts in config.yaml. */
  accounts: Record<string, Record<string, string>>
  /** Whether a server is connected: what was said before the first connection ever is not delivered. */
  isConnected(): boolean
  /** A person writes in their own chat; answers with the id of the chat. */
  say(text: string, person: number): string
  /** What the bot says, without placeholders. */
  said(): { chat: string; text: string }[]
  /** Calls whose answers were cut. */
  cut(): number
  strays(killedAt: readonly number[]): { count: number; violations: string[] }
  close(): Promise<void>
}

type Start = (fraction: () => number) => Promise<KilledPlatform>

/** Cuts one sending call in twelve, before or after it did what was asked. */
function drawFault(fraction: () => number): CallFault | undefined {
  const draw = fraction()
  if (draw < 0.04) return { type: 'cut-before' }
  return draw < 0.08 ? { type: 'cut-after' } : undefined
}

const startTelegramUnderKills: Start = async (fraction) => {
  const token = '4242:killed'
  const telegram = await startTelegram({
    tokens: [token],
    fault: ({ method }) => (/^(sendMessage|editMessageText)$/.test(method) ? drawFault(fraction) : undefined),
  })
  return {
    accounts: { telegram: { platform: 'telegram', token, api_root: telegram.url } },
    isConnected: () => true,
    say(text, person) {
      const user = { id: 2_000 + person, first_name: 'Person' }
      telegram.say(text, { user })
      return String(user.id)
    },
    said: () =>
      telegram.messages
        .filter(({ from, text }) => from.is_bot && text !== '…')
        .map(({ chat, text }) => ({ chat: String(chat.id), text })),
    cut: () => telegram.calls.filter(({ isAnswered }) => !isAnswered).length,
    strays(killedAt) {
      const strays = telegram.messages.filter(({ from, text }) => from.is_bot && text === '…')
      const violations = strays.flatMap(({ message_id: id }) => {
        const call = telegram.calls.find((each) => each.messageId === id)
        const isExplained = call && (!call.isAnswered || killedAt.some((at) => at >= call.at && at - call.at < 2_000))
        return isExplained ? [] : [`the placeholder ${id} stayed empty although its answer arrived`]
      })
      return { count: strays.length, violations }
    },
    close: telegram.close,
  }
}

const startSlackUnderKills: Start = async (fraction) => {
  const tokens = { bot: 'xoxb-killed', app: 'xapp-killed' }
  const slack = await startSlack({
    tokens,
    acknowledgeMs: 1_000,
    fault: ({ method }) => (/^chat\.(postMessage|update)$/.test(method) ? drawFault(fraction) : undefined),
  })
  return {
    accounts: { slack: { platform: 'slack', token: tokens.bot, app_token: tokens.app, api_root: slack.url } },
    isConnected: () => slack.connections() > 0,
    say(text, person) {
      const user = { id: `U${2_000 + person}`, name: 'Person' }
      return slack.say(text, { user }).channel
    },
    said: () =>
      slack.messages
        .filter(({ isBot, text }) => isBot && text !== '…')
        .map(({ channel, text }) => ({ chat: channel, text })),
    cut: () => slack.calls.filter(({ isAnswered }) => !isAnswered).length,
    strays() {
      // Each can be found again, so none stays.
      const strays = slack.messages.filter(({ isBot, text }) => isBot && text === '…')
      return { count: strays.length, violations: strays.map(({ ts }) => `the placeholder ${ts} stayed empty`) }
    },
    close: slack.close,
  }
}

const startDiscordUnderKills: Start = async (fraction) => {
  const token = 'discord-killed'
  const discord = await startDiscord({
    token,
    fault: ({ method, path }) =>
      method !== 'GET' && /\/channels\/\d+\/messages/.test(path) ? drawFault(fraction) : undefined,
  })
  return {
    accounts: { discord: { platform: 'discord', token, api_root: discord.url } },
    isConnected: () => discord.connections() > 0,
    say(text, person) {
      const user = { id: `10000000000000${2_000 + person}`, username: 'Person' }
      return discord.say(text, { user }).channel.id
    },
    said: () =>
      discord.messages
        .filter(({ author, content }) => author.bot === true && content !== '…')
        .map(({ channel, content }) => ({ chat: channel.id, text: content })),
    cut: () => discord.calls.filter(({ isAnswered }) => !isAnswered).length,
    strays() {
      const strays = discord.messages.filter(({ author, content }) => author.bot === true && content === '…')
      return { count: strays.length, violations: strays.map(({ id }) => `the placeholder ${id} stayed empty`) }
    },
    close: discord.close,
  }
}

const startMatrixUnderKills: Start = async (fraction) => {
  const token = 'matrix-killed'
  const matrix = await startMatrix({
    token,
    // Less than a burst of messages, so that there are gaps.
    timelineLimit: 3,
    fault: ({ method, path }) =>
      method === 'PUT' && path.includes('/send/m.room.message/') ? drawFault(fraction) : undefined,
  })
  // Another session, or a homeserver that was restarted: repeated transactions are not known then.
  let sends = 0
  matrix.listen(() => {
    const count = matrix.calls.length
    if (count - sends < 25) return
    sends = count
    matrix.forgetTransactions()
  })
  const isSaid = ({ sender, text }: { sender: string; text: string }) => sender === BOT.id && text !== '…'
  return {
    accounts: { matrix: { platform: 'matrix', token, api_root: matrix.url } },
    isConnected: () => matrix.connections() > 0,
    say(text, person) {
      const user = { id: `@person${person}:${SERVER}`, name: 'Person' }
      return matrix.say(text, { user }).room_id
    },
    said: () => matrix.messages.filter(isSaid).map(({ room, text }) => ({ chat: room, text })),
    cut: () => matrix.calls.filter(({ isAnswered }) => !isAnswered).length,
    strays() {
      const strays = matrix.messages.filter(({ sender, text }) => sender === BOT.id && text === '…')
      return { count: strays.length, violations: strays.map(({ id }) => `the placeholder ${id} stayed empty`) }
    },
    close: matrix.close,
  }
}

const KILLED_PLATFORMS = {
  telegram: startTelegramUnderKills,
  slack: startSlackUnderKills,
  discord: startDiscordUnderKills,
  matrix: startMatrixUnderKills,
} as const
export type KilledPlatformName = keyof typeof KILLED_PLATFORMS
export const KILLED_PLATFORM_NAMES = Object.keys(KILLED_PLATFORMS) as KilledPlatformName[]

/** `all`: people write on each platform in turn. */
export const startKilledPlatform = async (
  name: KilledPlatformName | 'all',
  fraction: () => number,
): Promise<KilledPlatform> => {
  if (name !== 'all') return KILLED_PLATFORMS[name](fraction)
  const each = await Promise.all(KILLED_PLATFORM_NAMES.map((one) => KILLED_PLATFORMS[one](fraction)))
  let next = 0
  return {
    accounts: Object.assign({}, ...each.map(({ accounts }) => accounts)),
    isConnected: () => each.every(({ isConnected }) => isConnected()),
    say: (...given) => each[next++ % each.length]!.say(...given),
    said: () => each.flatMap(({ said }) => said()),
    cut: () => each.reduce((sum, { cut }) => sum + cut(), 0),
    strays(killedAt) {
      const all = each.map(({ strays }) => strays(killedAt))
      const count = all.reduce((sum, one) => sum + one.count, 0)
      return { count, violations: all.flatMap(({ violations }) => violations) }
    },
    async close() {
      await Promise.all(each.map(({ close }) => close()))
    },
  }
}
