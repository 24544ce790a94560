import { fileLine } from '../chat-page.ts'
import type { SimulateChatOptions, SimulatedChat } from '../simulated-chat.ts'
import { TELEGRAM_RATES } from './rates.ts'
import { startTelegram } from './telegram-server.ts'
import type { SimulatedMessage } from './world.ts'

/** Any well-formed token is a bot of the simulated Telegram. */
const TOKEN = '1:simulated'

/** A simulated Telegram with its rates, and one person who writes to the bots that connect. */
export async function serveTelegram({ port, onMessage }: SimulateChatOptions): Promise<SimulatedChat> {
  const telegram = await startTelegram({ port, rates: TELEGRAM_RATES })
  const shown = new Map<number, string>()
  const stop = telegram.listen(() => {
    for (const message of telegram.messages.slice(-50)) show(message)
  })
  const show = (message: SimulatedMessage) => {
    const { message_id: id, from, chat, buttons, file } = message
    const text = file ? fileLine(file) : message.text
    if (!from.is_bot || chat.id !== telegram.user.id) return
    const state = JSON.stringify([text, buttons])
    if (shown.get(id) === state) return
    shown.set(id, state)
    onMessage({ id: String(id), text, buttons: buttons.map((button) => button.text) })
  }
  return {
    page: telegram.url,
    variables: { TELEGRAM_API_ROOT: telegram.url, TELEGRAM_BOT_TOKEN: TOKEN },
    say: (text) => void telegram.say(text),
    async close() {
      stop()
      await telegram.close()
    },
  }
}
