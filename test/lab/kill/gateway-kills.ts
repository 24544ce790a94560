import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { defined } from '../../../src/core/defined.ts'
import { seededFraction } from '../../harness/seeded.ts'
import { KILLED_PLATFORMS, type KilledPlatform, type KilledPlatformName } from './killed-platforms.ts'

const WORKER = fileURLToPath(new URL('gateway-worker.ts', import.meta.url))
/** Enough that no chat reaches its rate. */
const USERS = 40
const SETTLE_MS = 120_000
/** A process dies this long after an update at most. */
const LONGEST_LIFE_MS = 250

export type GatewayKillOptions = {
  kills: number
  seed: number
  platform?: KilledPlatformName
  /** PostgreSQL for several servers; without it one server on SQLite. */
  databaseUrl?: string
  servers?: number
  onProgress?(line: string): void
}

export type GatewayKillReport = {
  kills: number
  messages: number
  /** Messages whose runs died three times at one step: the chat was told. */
  gaveUp: number
  /** Calls whose answers the fake cut, before or after it did what was asked. */
  cut: number
  /** Placeholders that stayed empty. */
  strays: number
  violations: string[]
}

type Asked = { text: string; chat: string }

/** Kills servers with -9 between updates and their answers, and cuts calls to the platform, until every message is answered. */
export async function runGatewayKills(options: GatewayKillOptions): Promise<GatewayKillReport> {
  const { kills, seed, servers = 1, platform: name = 'telegram' } = options
  const fraction = seededFraction(seed)
  const platform = await KILLED_PLATFORMS[name](fraction)
  const homes = Array.from({ length: servers }, () => newHome(platform.settings))
  const running: (ChildProcess | undefined)[] = homes.map(() => undefined)
  const killedAt: number[] = []
  const asked: Asked[] = []
  const start = async (index: number) => {
    running[index] = await startWorker(homes[index]!, options.databaseUrl)
  }
  const say = () => {
    const text = `message ${asked.length} of seed ${seed}`
    asked.push({ text, chat: platform.say(text, Math.floor(fraction() * USERS)) })
  }
  try {
    await Promise.all(homes.map((_, index) => start(index)))
    await until(platform.isConnected)
    say()
    await until(() => platform.said().length > 0)
    for (let killed = 0; killed < kills; killed++) {
      const index = killed % servers
      for (let count = 1 + Math.floor(fraction() * 3); count > 0; count--) say()
      await sleep(fraction() * LONGEST_LIFE_MS)
      const child = running[index]!
      child.kill('SIGKILL')
      await once(child, 'exit')
      killedAt.push(Date.now())
      await start(index)
      if (killed % 20 === 19) options.onProgress?.(`${killed + 1} kills, ${asked.length} messages`)
    }
    const { violations, gaveUp } = await settle(platform, asked)
    const strays = platform.strays(killedAt)
    violations.push(...strays.violations)
    return { kills, messages: asked.length, gaveUp, cut: platform.cut(), strays: strays.count, violations }
  } finally {
    for (const child of running) child?.kill('SIGKILL')
    await platform.close()
    for (const home of homes) rmSync(home, { recursive: true, force: true })
  }
}

async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + SETTLE_MS; Date.now() < end && !condition(); ) await sleep(50)
}

function newHome(settings: KilledPlatform['settings']): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-gateway-'))
  const account = Object.entries({ ...settings, access: 'open' }).map(([key, value]) => `    ${key}: "${value}"\n`)
  writeFileSync(join(home, 'config.yaml'), `model: echo/any\ngateway:\n  bot:\n${account.join('')}`)
  return home
}

async function startWorker(home: string, databaseUrl: string | undefined): Promise<ChildProcess> {
  const env = {
    PATH: process.env.PATH,
    HOLDFAST_HOME: home,
    NODE_COMPILE_CACHE: join(tmpdir(), 'holdfast-compile-cache'),
    ...defined({ DATABASE_URL: databaseUrl }),
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

/** What the engine says of a run whose worker died three times at the same step: it is an answer, too. */
const GAVE_UP = /worker process died three times/

/** Waits until every message has an outcome; then each must have one, in its chat, and nothing else may be said. */
async function settle(
  platform: KilledPlatform,
  asked: readonly Asked[],
): Promise<{ violations: string[]; gaveUp: number }> {
  const { said } = platform
  // A machine that is busy with other work may take long: only a standstill ends the wait.
  let count = said().length
  for (let end = Date.now() + SETTLE_MS; Date.now() < end && said().length < asked.length; ) {
    await sleep(200)
    if (said().length === count) continue
    count = said().length
    end = Date.now() + SETTLE_MS
  }
  // A second answer would come soon.
  await sleep(3_000)
  const violations: string[] = []
  const unanswered = new Map<string, number>()
  for (const { text, chat } of asked) {
    const count = said().filter((message) => message.chat === chat && message.text === `You said: ${text}`).length
    if (count === 0) unanswered.set(chat, (unanswered.get(chat) ?? 0) + 1)
    else if (count > 1) violations.push(`"${text}" was answered ${count} times`)
  }
  const gaveUp = said().filter(({ text }) => GAVE_UP.test(text))
  for (const chat of new Set(asked.map((one) => one.chat))) {
    const missing = unanswered.get(chat) ?? 0
    const told = gaveUp.filter((message) => message.chat === chat).length
    if (missing !== told)
      violations.push(`in chat ${chat} ${missing} messages have no answer, and ${told} were given up`)
  }
  const isKnown = (text: string) => GAVE_UP.test(text) || asked.some((one) => text === `You said: ${one.text}`)
  violations.push(...said().flatMap(({ text }) => (isKnown(text) ? [] : [`the bot said "${text}"`])))
  return { violations, gaveUp: gaveUp.length }
}
