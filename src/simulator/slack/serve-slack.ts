import type { SimulateChatOptions, SimulatedChat } from '../simulated-chat.ts'
import { SLACK_RATES } from './rates.ts'
import { startSlack } from './slack-server.ts'
import { ADA, type SimulatedMessage } from './world.ts'

/** A simulated Slack with its rates, and one person who writes to the app that connects. */
export async function serveSlack({ port, onMessage }: SimulateChatOptions): Promise<SimulatedChat> {
  const slack = await startSlack({ port, rates: SLACK_RATES })
  const shown = new Map<string, string>()
  const direct = slack.directChannel(ADA).id
  const show = ({ ts, isBot, channel, text, buttons }: SimulatedMessage) => {
    if (!isBot || channel !== direct) return
    const state = JSON.stringify([text, buttons])
    if (shown.get(ts) === state) return
    shown.set(ts, state)
    onMessage({ id: ts, text, buttons: buttons.map((button) => button.text) })
  }
  const stop = slack.listen(() => slack.messages.slice(-50).forEach(show))
  return {
    variables: { SLACK_API_ROOT: slack.url, SLACK_BOT_TOKEN: 'xoxb-simulated', SLACK_APP_TOKEN: 'xapp-simulated' },
    page: `http://127.0.0.1:${slack.port}`,
    say: (text) => void slack.say(text),
    async close() {
      stop()
      await slack.close()
    },
  }
}
