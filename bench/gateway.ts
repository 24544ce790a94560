import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openApp } from '../src/app.ts'
import { realClock } from '../src/config/real-clock.ts'
import type { Store } from '../src/ports/store.ts'
import { newScriptedProvider } from '../src/providers/scripted/script.ts'
import { listSessions } from '../src/service/gateway/chat-sessions.ts'
import { sendMessage } from '../src/service/messages/send-message.ts'
import { startTelegram } from '../src/simulator/telegram/telegram-server.ts'
import { type BenchRunner, SideFailed } from './bench-runner.ts'
import type { Size } from './benchmarks.ts'
import { type Figure, median, show } from './figures.ts'

const TOKEN = '4242:bench'
const PEOPLE = 40
const PATIENCE_MS = 60_000

/**
 * From an update in the hands of the server to its run on disk, and beside it what accepting a message costs without a chat
 * platform: the two alternate, so that conditions are equal.
 */
export async function gateway(runner: BenchRunner, size: Size): Promise<Figure[]> {
  const rounds = size === 'quick' ? 40 : 400
  const telegram = await startTelegram({ tokens: [TOKEN] })
  const home = runner.folder()
  const account = `  bot:\n    platform: telegram\n    token: "${TOKEN}"\n    api_root: ${telegram.url}\n    access: open\n`
  writeFileSync(join(home, 'config.yaml'), `model: bench/any\ngateway:\n${account}`)
  const times = { arrivedAt: 0, storedAt: 0, askedAt: 0, openedAt: 0 }
  const wrapStore = (store: Store): Store => ({
    ...store,
    gateway: {
      ...store.gateway,
      async accept(...given) {
        times.arrivedAt = performance.now()
        const accepted = await store.gateway.accept(...given)
        times.storedAt = performance.now()
        return accepted
      },
    },
    runs: {
      ...store.runs,
      async open(...given) {
        times.askedAt = performance.now()
        const opened = await store.runs.open(...given)
        times.openedAt = performance.now()
        return opened
      },
    },
  })
  const bench = newScriptedProvider({ clock: realClock, scriptFor: () => [{ text: 'Read.' }] })
  const environment = { PATH: process.env.PATH, HOLDFAST_HOME: home }
  const app = await openApp({ environment, role: 'owner', hasGateway: true, providers: { bench }, wrapStore })
  const whole: number[] = []
  const stored: number[] = []
  const between: number[] = []
  const opened: number[] = []
  const plain: number[] = []
  const say = async (round: number) => {
    const before = times.openedAt
    telegram.say(`message ${round}`, { user: { id: 5_000 + (round % PEOPLE), first_name: 'Person' } })
    await until(() => times.openedAt > before, `update ${round} reached no run`)
  }
  try {
    // Every chat has its conversation before anything is measured.
    for (let person = 0; person < PEOPLE; person++) await say(person)
    const [session] = await listSessions({ limit: 1 }, app.context)
    const agent = await app.context.deps.store.agents.get(session!.organizationId, session!.agentId)
    if (!agent) throw new SideFailed('the gateway has no agent')
    for (let round = 0; round < rounds; round++) {
      await say(round)
      whole.push(times.openedAt - times.arrivedAt)
      stored.push(times.storedAt - times.arrivedAt)
      between.push(times.askedAt - times.storedAt)
      opened.push(times.openedAt - times.askedAt)
      const conversationId = session!.conversationId
      const from = performance.now()
      await sendMessage({ agent, conversationId, content: [{ type: 'text', text: 'beside it' }] }, app.context)
      plain.push(performance.now() - from)
    }
  } finally {
    await app.close()
    await telegram.close()
  }
  const parts = `update on disk ${show(median(stored))} ms, to its message ${show(median(between))} ms, run on disk ${show(median(opened))} ms`
  const detail = `${parts}; a message over the API ${show(median(plain))} ms`
  return [{ name: 'gateway_intake_ms', value: median(whole), detail }]
}

async function until(condition: () => boolean, complaint: string): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; !condition(); ) {
    if (performance.now() > end) throw new SideFailed(complaint)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
