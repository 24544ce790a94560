import { portFault } from '../serve-script.ts'
import { TELEGRAM_RATES } from './rates.ts'
import { startTelegram } from './telegram-server.ts'
import type { SimulatedMessage } from './world.ts'

type ServeTelegramOptions = {
  port: number
  onMessage(message: { id: number; text: string; buttons: readonly string[] }): void
}

type ServeTelegramResult =
  | { type: 'serving'; url: string; say(text: string): void; close(): Promise<void> }
  | { type: 'refused'; because: 'port'; reasons: string[] }

/** A simulated Telegram with its rates, and one person who writes to the bots that connect. */
export async function serveTelegram({ port, onMessage }: ServeTelegramOptions): Promise<ServeTelegramResult> {
  try {
    const telegram = await startTelegram({ port, rates: TELEGRAM_RATES })
    const shown = new Map<number, string>()
    const stop = telegram.listen(() => {
      for (const message of telegram.messages.slice(-50)) show(message)
    })
    const show = (message: SimulatedMessage) => {
      const { message_id: id, from, chat, text, buttons } = message
      if (!from.is_bot || chat.id !== telegram.user.id) return
      const state = JSON.stringify([text, buttons])
      if (shown.get(id) === state) return
      shown.set(id, state)
      onMessage({ id, text, buttons: buttons.map((button) => button.text) })
    }
    return {
      type: 'serving',
      url: telegram.url,
      say: (text) => void telegram.say(text),
      async close() {
        stop()
        await telegram.close()
      },
    }
  } catch (fault) {
    const reason = portFault(fault, port)
    if (reason === undefined) throw fault
    return { type: 'refused', because: 'port', reasons: [reason] }
  }
}
