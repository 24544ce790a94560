import type { SimulateChatOptions, SimulatedChat } from '../simulated-chat.ts'
import { startMatrix } from './matrix-server.ts'
import { ADA, BOT, type SimulatedMessage } from './world.ts'

/** As of a homeserver whose administrator gave the bot room: Synapse allows an account much less by itself. */
const RATE = { burst: 10, perSecond: 2 }

/** A simulated homeserver with its rates, and one person who writes to the bot that connects. */
export async function serveMatrix({ port, onMessage }: SimulateChatOptions): Promise<SimulatedChat> {
  const matrix = await startMatrix({ port, rate: RATE })
  const shown = new Map<string, string>()
  const show = ({ id, sender, room, text, offered }: SimulatedMessage) => {
    if (sender !== BOT.id || room !== matrix.directRoom(ADA).id) return
    const state = JSON.stringify([text, offered])
    if (shown.get(id) === state) return
    shown.set(id, state)
    onMessage({ id, text, buttons: offered })
  }
  const stop = matrix.listen(() => matrix.messages.slice(-50).forEach(show))
  return {
    page: `http://127.0.0.1:${matrix.port}`,
    variables: { MATRIX_HOMESERVER: matrix.url, MATRIX_ACCESS_TOKEN: 'simulated' },
    say: (text) => void matrix.say(text),
    async close() {
      stop()
      await matrix.close()
    },
  }
}
