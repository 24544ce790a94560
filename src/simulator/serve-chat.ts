import type { PlatformName } from '../core/gateway/platforms.ts'
import { portFault } from './serve-script.ts'
import type { SimulateChatOptions, SimulatedChat } from './simulated-chat.ts'

/** One line for each platform. */
const SERVE: Record<PlatformName, (options: SimulateChatOptions) => Promise<SimulatedChat>> = {
  telegram: async (options) => (await import('./telegram/serve-telegram.ts')).serveTelegram(options),
  slack: async (options) => (await import('./slack/serve-slack.ts')).serveSlack(options),
  discord: async (options) => (await import('./discord/serve-discord.ts')).serveDiscord(options),
  matrix: async (options) => (await import('./matrix/serve-matrix.ts')).serveMatrix(options),
}

type ServeChatResult = ({ type: 'serving' } & SimulatedChat) | { type: 'refused'; because: 'port'; reasons: string[] }

export async function serveChat({
  platform,
  ...options
}: SimulateChatOptions & { platform: PlatformName }): Promise<ServeChatResult> {
  try {
    const { page, variables, say, close } = await SERVE[platform](options)
    return { type: 'serving', page, variables, say, close }
  } catch (fault) {
    const reason = portFault(fault, options.port)
    if (reason === undefined) throw fault
    return { type: 'refused', because: 'port', reasons: [reason] }
  }
}
