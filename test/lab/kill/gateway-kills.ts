import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type App, openApp } from '../../../src/app.ts'
import { defined } from '../../../src/core/defined.ts'
import { listAccounts } from '../../../src/service/gateway/accounts.ts'
import { checkAllGateway } from '../../../src/service/store/check-gateway.ts'
import { seededFraction } from '../../harness/seeded.ts'
import { type KilledPlatform, type KilledPlatformName, startKilledPlatform } from './killed-platforms.ts'

const WORKER = fileURLToPath(new URL('gateway-worker.ts', import.meta.url))
/** Enough that no chat reaches its rate. */
const USERS = 40
/** A process dies this long after an update at most. */
const LONGEST_LIFE_MS = 250
/** A pause that outlasts the lease of a process: another one takes its accounts over. */
const LONG_PAUSE_MS = 14_000
/** Without another answer for so long, while the servers used so much of a processor, they stand still. */
const STANDSTILL_MS = 120_000
const STANDSTILL_CPU_MS = 10_000

export type GatewayKillOptions = {
  kills: number
  seed: number
  /** `all`: an account on each. */
  platform?: KilledPlatformName | 'all'
  /** PostgreSQL for several servers; without it one server on SQLite. */
  databaseUrl?: string
  servers?: number
  /** Every second time a server is paused (SIGSTOP) in place of killed, half of them for longer than its lease. */
  pauses?: boolean
  onProgress?(line: string): void
}

export type GatewayKillReport = {
  platform: string
  servers: number
  kills: number
  pauses: number
  messages: number
  /** Messages whose runs died three times at one step: the chat was told. */
  gaveUp: number
  /** Calls whose answers the fake cut, before or after it did what was asked. */
  cut: number
  /** Placeholders that stayed empty. */
  strays: number
  seconds: number
  violations: string[]
}

type Asked = { text: string; chat: string }

/** Kills servers with -9 between updates and their answers, and cuts calls to the platform, until every message is answered. */
export async function runGatewayKills(options: GatewayKillOptions): Promise<GatewayKillReport> {
  const { kills, seed, servers = 1, platform: name = 'telegram', pauses = false, onProgress } = options
  const beganAt = Date.now()
  const fraction = seededFraction(seed)
  const platform = await startKilledPlatform(name, fraction)
  const homes = Array.from({ length: servers }, () => newHome(platform.accounts))
  const running: (ChildProcess | undefined)[] = homes.map(() => undefined)
  const killedAt: number[] = []
  const asked: Asked[] = []
  let paused = 0
  const start = async (index: number) => {
    running[index] = await startWorker(homes[index]!, options.databaseUrl)
  }
  const say = () => {
    const text = `message ${asked.length} of seed ${seed}`
    asked.push({ text, chat: platform.say(text, Math.floor(fraction() * USERS)) })
  }
  const progress = () => platform.said().length
  const moves = (condition: () => boolean | Promise<boolean>) => untilStandstill(condition, { running, progress })
  const kill = async (index: number) => {
    const child = running[index]!
    child.kill('SIGKILL')
    await once(child, 'exit')
    killedAt.push(Date.now())
    await start(index)
  }
  const pause = async (index: number) => {
    const child = running[index]!
    paused += 1
    child.kill('SIGSTOP')
    const before = progress()
    // The others go on with its accounts once its lease is over: a long pause ends when they have said something, or if
    // everything was said before it.
    if (fraction() < 0.5) await sleep(fraction() * 1_000)
    else {
      await sleep(LONG_PAUSE_MS)
      await moves(() => progress() > before || progress() >= asked.length)
    }
    killedAt.push(Date.now())
    child.kill('SIGCONT')
  }
  try {
    await Promise.all(homes.map((_, index) => start(index)))
    await moves(platform.isConnected)
    say()
    await moves(() => progress() > 0)
    for (let done = 0; done < kills; done++) {
      const index = done % servers
      for (let count = 1 + Math.floor(fraction() * 3); count > 0; count--) say()
      await sleep(fraction() * LONGEST_LIFE_MS)
      const before = progress()
      // Both servers get both, in turn.
      if (pauses && Math.floor(done / servers) % 2 === 1) await pause(index)
      else await kill(index)
      // With several servers a lease has to end before anything is said again, and the next blow should meet work.
      if (servers > 1) await moves(() => progress() > before || progress() >= asked.length)
      if (done % 20 === 19 || done === kills - 1) {
        const seconds = Math.round((Date.now() - beganAt) / 1_000)
        onProgress?.(`${done + 1} of ${kills}, ${asked.length} messages, ${progress()} answers, ${seconds} s`)
      }
    }
    await moves(() => progress() >= asked.length)
    const violations = await afterAll({ home: homes[0]!, databaseUrl: options.databaseUrl }, moves)
    const { gaveUp, violations: missing } = answersOf(platform, asked)
    const strays = platform.strays(killedAt)
    violations.push(...missing, ...strays.violations)
    const seconds = Math.round((Date.now() - beganAt) / 1_000)
    const counts = { messages: asked.length, gaveUp, cut: platform.cut(), strays: strays.count, seconds }
    return { platform: name, servers, kills: kills - paused, pauses: paused, ...counts, violations }
  } finally {
    for (const child of running) child?.kill('SIGKILL')
    await platform.close()
    for (const home of homes) rmSync(home, { recursive: true, force: true })
  }
}

type Moving = { running: readonly (ChildProcess | undefined)[]; progress(): number }

/**
 * Waits for the condition as long as there are answers. A machine that is busy with other work may take long, so only servers
 * that had their time and said nothing end the wait.
 */
async function untilStandstill(
  condition: () => boolean | Promise<boolean>,
  { running, progress }: Moving,
): Promise<void> {
  const used = () => running.reduce((sum, child) => sum + cpuOf(child?.pid), 0)
  let count = progress()
  let since = { at: Date.now(), cpu: used() }
  while (!(await condition())) {
    await sleep(50)
    if (progress() !== count) {
      count = progress()
      since = { at: Date.now(), cpu: used() }
    } else if (Date.now() - since.at > STANDSTILL_MS && used() - since.cpu > STANDSTILL_CPU_MS) return
  }
}

/** Milliseconds of a processor that a process has used. */
function cpuOf(pid: number | undefined): number {
  try {
    const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    const fields = rest.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return 0
  }
}

function newHome(accounts: KilledPlatform['accounts']): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-gateway-'))
  const lines = Object.entries(accounts).map(
    ([name, settings]) =>
      `  ${name}:\n${Object.entries({ ...settings, access: 'open' })
        .map(([key, value]) => `    ${key}: "${value}"\n`)
        .join('')}`,
  )
  writeFileSync(join(home, 'config.yaml'), `model: echo/any\ngateway:\n${lines.join('')}`)
  return home
}

const environmentOf = (home: string, databaseUrl: string | undefined) => ({
  PATH: process.env.PATH,
  HOLDFAST_HOME: home,
  NODE_COMPILE_CACHE: join(tmpdir(), 'holdfast-compile-cache'),
  ...defined({ DATABASE_URL: databaseUrl }),
})

async function startWorker(home: string, databaseUrl: string | undefined): Promise<ChildProcess> {
  const env = environmentOf(home, databaseUrl)
  const child = spawn(process.execPath, [WORKER], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ready = once(child.stdout!, 'data')
  const ended = once(child, 'exit').then(() => {
    throw new Error('the server did not start')
  })
  await Promise.race([ready, ended])
  ended.catch(() => undefined)
  return child
}

type Home = { home: string; databaseUrl: string | undefined }

/** Nothing is left that could be said later, and the rows are as `doctor` wants them. */
async function afterAll(
  { home, databaseUrl }: Home,
  moves: (condition: () => Promise<boolean>) => Promise<void>,
): Promise<string[]> {
  const app: App = await openApp({ environment: environmentOf(home, databaseUrl), role: 'guest' })
  const left = async () =>
    (await listAccounts(app.context)).flatMap(
      ({ name, pendingInbound, openOutbound, openDeliveries, unknownOutbound }) =>
        pendingInbound + openOutbound + openDeliveries + unknownOutbound === 0
          ? []
          : `${name} has ${pendingInbound} updates, ${openOutbound} messages and ${openDeliveries} runs left, and ${unknownOutbound} unknown messages`,
    )
  try {
    await moves(async () => (await left()).length === 0)
    const broken = await checkAllGateway(app.context, new Set())
    return [...(await left()), ...broken.map(({ invariant, detail }) => `${invariant}: ${detail}`)]
  } finally {
    await app.close()
  }
}

/** What the engine says of a run whose worker died three times at the same step: it is an answer, too. */
const GAVE_UP = /worker process died three times/

/** Each message must have one outcome, in its chat, and nothing else may be said. */
function answersOf(platform: KilledPlatform, asked: readonly Asked[]): { violations: string[]; gaveUp: number } {
  const said = platform.said()
  const violations: string[] = []
  const unanswered = new Map<string, number>()
  const counts = new Map<string, number>()
  const keyOf = (chat: string, text: string) => `${chat}\n${text}`
  for (const { chat, text } of said) counts.set(keyOf(chat, text), (counts.get(keyOf(chat, text)) ?? 0) + 1)
  for (const { text, chat } of asked) {
    const count = counts.get(keyOf(chat, `You said: ${text}`)) ?? 0
    if (count === 0) unanswered.set(chat, (unanswered.get(chat) ?? 0) + 1)
    else if (count > 1) violations.push(`"${text}" was answered ${count} times`)
  }
  const gaveUp = said.filter(({ text }) => GAVE_UP.test(text))
  for (const chat of new Set(asked.map((one) => one.chat))) {
    const missing = unanswered.get(chat) ?? 0
    const told = gaveUp.filter((message) => message.chat === chat).length
    if (missing !== told)
      violations.push(`in chat ${chat} ${missing} messages have no answer, and ${told} were given up`)
  }
  const expected = new Set(asked.map(({ text }) => `You said: ${text}`))
  violations.push(
    ...said.flatMap(({ text }) => (GAVE_UP.test(text) || expected.has(text) ? [] : [`the bot said "${text}"`])),
  )
  return { violations, gaveUp: gaveUp.length }
}
