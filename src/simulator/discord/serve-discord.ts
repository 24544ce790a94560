import type { SimulateChatOptions, SimulatedChat } from '../simulated-chat.ts'
import { startDiscord } from './discord-server.ts'
import { ADA, type SimulatedMessage } from './world.ts'

/** Discord allows about so many calls to one channel in five seconds. */
const CALLS_PER_CHANNEL = 5

/** A simulated Discord with its rates, and one person who writes to the bot that connects. */
export async function serveDiscord({ port, onMessage }: SimulateChatOptions): Promise<SimulatedChat> {
  const discord = await startDiscord({ port, callsPerChannel: CALLS_PER_CHANNEL })
  const shown = new Map<string, string>()
  const show = ({ id, author, channel, content, buttons }: SimulatedMessage) => {
    if (!author.bot || channel.recipient !== ADA.id) return
    const state = JSON.stringify([content, buttons])
    if (shown.get(id) === state) return
    shown.set(id, state)
    onMessage({ id, text: content, buttons: buttons.map((button) => button.text) })
  }
  const stop = discord.listen(() => discord.messages.slice(-50).forEach(show))
  return {
    page: `http://127.0.0.1:${discord.port}`,
    variables: { DISCORD_API_ROOT: discord.url, DISCORD_BOT_TOKEN: 'simulated' },
    say: (text) => void discord.say(text),
    async close() {
      stop()
      await discord.close()
    },
  }
}
