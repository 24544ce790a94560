import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startTelegram, type TelegramServer } from '../../../src/simulator/telegram/telegram-server.ts'
import type { CallFault } from '../../../src/simulator/telegram/world.ts'
import { seededFraction } from '../../harness/seeded.ts'

const WORKER = fileURLToPath(new URL('gateway-worker.ts', import.meta.url))
const TOKEN = '4242:killed'
/** Enough that no chat reaches its rate. */
const USERS = 40
const SETTLE_MS = 120_000
/** A process dies this long after an update at most. */
const LONGEST_LIFE_MS = 250

export type GatewayKillOptions = {
  kills: number
  seed: number
  /** PostgreSQL for several servers; without it one server on SQLite. */
  databaseUrl?: string
  servers?: number
  onProgress?(line: string): void
}

export type GatewayKillReport = {
  kills: number
  messages: number
  /** Calls whose answers the fake cut, before or after it did what was asked. */
  cut: number
  /** Placeholders that stayed empty. */
  strays: number
  violations: string[]
}

/** Kills servers with -9 between updates and their answers, and cuts calls to the platform, until every message is answered. */
export async function runGatewayKills(options: GatewayKillOptions): Promise<GatewayKillReport> {
  const { kills, seed, servers = 1 } = options
  const fraction = seededFraction(seed)
  const telegram = await startTelegram({ tokens: [TOKEN], fault: ({ method }) => drawFault(method, fraction) })
  const homes = Array.from({ length: servers }, () => newHome(telegram.url))
  const running: (ChildProcess | undefined)[] = homes.map(() => undefined)
  const killedAt: number[] = []
  const texts: string[] = []
  const start = async (index: number) => {
    running[index] = await startWorker(homes[index]!, options.databaseUrl)
  }
  const say = () => {
    const user = { id: 2_000 + Math.floor(fraction() * USERS), first_name: 'Person' }
    texts.push(`message ${texts.length} of seed ${seed}`)
    telegram.say(texts.at(-1)!, { user })
  }
  try {
    await Promise.all(homes.map((_, index) => start(index)))
    for (let killed = 0; killed < kills; killed++) {
      const index = killed % servers
      for (let count = 1 + Math.floor(fraction() * 3); count > 0; count--) say()
      await sleep(fraction() * LONGEST_LIFE_MS)
      const child = running[index]!
      child.kill('SIGKILL')
      await once(child, 'exit')
      killedAt.push(Date.now())
      await start(index)
      if (killed % 20 === 19) options.onProgress?.(`${killed + 1} kills, ${texts.length} messages`)
    }
    const violations = await settle(telegram, texts)
    const strays = telegram.messages.filter(({ from, text }) => from.is_bot && text === '…')
    const cut = telegram.calls.filter(({ isAnswered }) => !isAnswered).length
    for (const { message_id: id } of strays) {
      const call = telegram.calls.find((each) => each.messageId === id)
      const isExplained = call && (!call.isAnswered || killedAt.some((at) => at >= call.at && at - call.at < 2_000))
      if (!isExplained) violations.push(`the placeholder ${id} stayed empty although its answer arrived`)
    }
    return { kills, messages: texts.length, cut, strays: strays.length, violations }
  } finally {
    for (const child of running) child?.kill('SIGKILL')
    await telegram.close()
    for (const home of homes) rmSync(home, { recursive: true, force: true })
  }
}

function drawFault(method: string, fraction: () => number): CallFault | undefined {
  if (method !== 'sendMessage' && method !== 'editMessageText') return undefined
  const draw = fraction()
  if (draw < 0.04) return { type: 'cut-before' }
  return draw < 0.08 ? { type: 'cut-after' } : undefined
}

function newHome(apiRoot: string): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-gateway-'))
  const account = `gateway:\n  bot:\n    token: "${TOKEN}"\n    api_root: ${apiRoot}\n    access: open\n`
  writeFileSync(join(home, 'config.yaml'), `model: echo/any\n${account}`)
  return home
}

async function startWorker(home: string, databaseUrl: string | undefined): Promise<ChildProcess> {
  const env = {
    PATH: process.env.PATH,
    HOLDFAST_HOME: home,
    NODE_COMPILE_CACHE: join(tmpdir(), 'holdfast-compile-cache'),
    ...(databaseUrl === undefined ? undefined : { DATABASE_URL: databaseUrl }),
  }
  const child = spawn(process.execPath, [WORKER], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ready = once(child.stdout!, 'data')
  const ended = once(child, 'exit').then(() => {
    throw new Error('the server did not start')
  })
  await Promise.race([ready, ended])
  ended.catch(() => undefined)
  return child
}

/** Waits until every message is answered; then each must be answered once, and nothing else may be said. */
async function settle(telegram: TelegramServer, texts: readonly string[]): Promise<string[]> {
  const answersNow = () => {
    const said = new Map<string, number>()
    for (const { from, text } of telegram.messages) if (from.is_bot) said.set(text, (said.get(text) ?? 0) + 1)
    return said
  }
  const isAnswered = (text: string) => answersNow().has(`You said: ${text}`)
  for (const end = Date.now() + SETTLE_MS; Date.now() < end && !texts.every(isAnswered); ) await sleep(200)
  // A second answer would come soon.
  await sleep(3_000)
  const said = answersNow()
  const expected = new Set(['…', ...texts.map((text) => `You said: ${text}`)])
  return [
    ...texts.flatMap((text) => {
      const count = said.get(`You said: ${text}`) ?? 0
      return count === 1 ? [] : [`"${text}" was answered ${count} times`]
    }),
    ...[...said.keys()].filter((text) => !expected.has(text)).map((text) => `the bot said "${text}"`),
  ]
}
