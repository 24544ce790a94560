import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { defined } from '../src/core/defined.ts'
import { type BenchRunner, SideFailed, type SideName } from './bench-runner.ts'
import { type Figure, type FigureName, median, show } from './figures.ts'
import { gateway } from './gateway.ts'
import { pythonTool } from './python-tool.ts'
import { server } from './server/figures.ts'
import { shell } from './shell.ts'
import type { Measurement } from './side.ts'
import { MESSAGES_PER_TURN } from './wire.ts'

export type BenchmarkName =
  | 'cpu'
  | 'bytes'
  | 'history'
  | 'idle'
  | 'resume'
  | 'warm'
  | 'cache'
  | 'shell'
  | 'python-tool'
  | 'client'
  | 'gateway'
  | 'server'
export type Benchmark = (runner: BenchRunner, size: Size) => Promise<Figure[]>

/** The number of rounds. `quick` gives a first impression, not a result. */
export type Size = 'full' | 'quick'

const SIDES: readonly SideName[] = ['bare', 'engine']

export const BENCHMARKS: Record<BenchmarkName, Benchmark> = {
  cpu,
  bytes,
  history,
  idle,
  resume,
  warm,
  cache,
  shell,
  'python-tool': pythonTool,
  client,
  gateway,
  server,
}

type Durability = 'relaxed' | 'strict'
type CpuCase = {
  name: FigureName
  lanes: number
  durability: Durability
  warmUp: number
  turns: number
  rounds: number
}

const CPU_CASES: readonly CpuCase[] = [
  { name: 'cpu_ratio_c1', lanes: 1, durability: 'relaxed', warmUp: 200, turns: 150, rounds: 7 },
  { name: 'cpu_ratio_c64_relaxed', lanes: 64, durability: 'relaxed', warmUp: 384, turns: 448, rounds: 21 },
  { name: 'cpu_ratio_c64_strict', lanes: 64, durability: 'strict', warmUp: 384, turns: 256, rounds: 3 },
]

/** CPU of a turn, user and system, of the measured process only; the sides alternate, so that conditions are equal. */
async function cpu(runner: BenchRunner, size: Size): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const turnCase of CPU_CASES) {
    const { name, rounds } = turnCase
    const perTurn = { bare: [] as number[], engine: [] as number[] }
    for (let round = 0; round < (size === 'quick' ? 1 : rounds); round++)
      // The order alternates, so that a machine that slows down favors neither side.
      for (const side of round % 2 === 0 ? SIDES : SIDES.toReversed())
        perTurn[side].push(cpuPerTurn(await freshTurns(runner, side, turnCase)))
    const [bare, engine] = [median(perTurn.bare), median(perTurn.engine)]
    // Compares measurements that are adjacent in time: the speed of the machine varies over minutes.
    const value = median(perTurn.engine.map((cost, round) => cost / perTurn.bare[round]!))
    figures.push({ name, value, detail: `${show(engine)} ms / ${show(bare)} ms of CPU per turn` })
  }
  const strict = { ...CPU_CASES[2]!, watchLoop: true as const }
  const watched = await freshTurns(runner, 'engine', strict)
  const bare = await freshTurns(runner, 'bare', strict)
  figures.push({
    name: 'loop_delay_p99_ms',
    value: watched.loopDelayP99Ms,
    detail: `64 strict turns at once; the bare loop ${show(bare.loopDelayP99Ms)} ms`,
  })
  return figures
}

type FreshTurns = Pick<CpuCase, 'lanes' | 'durability' | 'warmUp' | 'turns'> & { watchLoop?: true }

/** Each turn has its own conversation, so that no turn pays for the history of another. */
async function freshTurns(runner: BenchRunner, side: SideName, turnCase: FreshTurns): Promise<Measurement> {
  const { lanes, durability, warmUp, turns, watchLoop } = turnCase
  const options = { home: runner.folder(), durability, request: 'whole-history' as const }
  const job = { type: 'fresh' as const, ...options, lanes, warmUp, turns, ...defined({ watchLoop }) }
  return requireComplete(side, await runner.measure(side, job))
}

/**
 * Bytes written to the kernel (`wchar`), because `write_bytes` counts a page once, however often it is written before
 * it reaches the disk. Sockets count too, so requests contain only the current turn.
 */
async function bytes(runner: BenchRunner, size: Size): Promise<Figure[]> {
  const turns = size === 'quick' ? 20 : 50
  const written = async (side: SideName, messages: number) =>
    (await seededTurns(runner, side, { messages, turns, warmUp: 10, request: 'current-turn' })).map(
      (one) => one.writtenBytes / one.turns,
    )[0]!
  const [short, long] = [await written('engine', 10), await written('engine', 10_000)]
  const bare = [await written('bare', 10), await written('bare', 10_000)]
  const detail =
    `${kilo(long)} / ${kilo(short)} written per turn at 10,000 / 10 messages; ` +
    `the bare loop ${kilo(bare[1]!)} / ${kilo(bare[0]!)}`
  return [{ name: 'bytes_growth', value: long / short, detail }]
}

/** The cost of one message of history per turn, without the request: reading, parsing and preparing it. */
async function history(runner: BenchRunner, size: Size): Promise<Figure[]> {
  const rounds = size === 'quick' ? 1 : 3
  const perMessage = async (side: SideName, request: 'whole-history' | 'current-turn') => {
    const cost = async (messages: number) => {
      const plan = { messages, turns: 25, warmUp: 15, request, rounds: request === 'whole-history' ? 1 : rounds }
      return median((await seededTurns(runner, side, plan)).map(cpuPerTurn))
    }
    return (1_000 * ((await cost(5_000)) - (await cost(10)))) / 4_990
  }
  const [engine, bare] = [await perMessage('engine', 'current-turn'), await perMessage('bare', 'current-turn')]
  const detail = `CPU per message and turn without the request; the bare loop ${show(bare)} µs`
  if (size === 'quick') return [{ name: 'us_per_history_message', value: engine, detail }]
  const sent = [await perMessage('engine', 'whole-history'), await perMessage('bare', 'whole-history')]
  const whole = `; with four requests that hold it ${show(sent[0]!)} µs, the bare loop ${show(sent[1]!)} µs`
  return [{ name: 'us_per_history_message', value: engine, detail: detail + whole }]
}

type SeededTurns = {
  messages: number
  turns: number
  warmUp: number
  request: 'whole-history' | 'current-turn'
  rounds?: number
  cacheEntries?: number
}

/** Another process writes the history, so that its pages do not count as written by the measured process. */
async function seededTurns(runner: BenchRunner, side: SideName, plan: SeededTurns): Promise<Measurement[]> {
  const { messages, turns, warmUp, request, rounds = 1, cacheEntries } = plan
  const kept = cacheEntries === undefined ? {} : { cacheEntries }
  const options = { home: runner.folder(), durability: 'relaxed' as const, request, ...kept }
  const seeded = await runner.measure(side, { type: 'seed', ...options, messages })
  if (seeded.messages !== messages) throw new SideFailed(`the ${side} side seeded ${seeded.messages} of ${messages}`)
  const measured: Measurement[] = []
  for (let round = 0; round < rounds; round++) {
    const home = join(runner.folder(), 'copy')
    cpSync(options.home, home, { recursive: true })
    const job = { type: 'seeded' as const, ...options, home, conversation: seeded.conversation, warmUp, turns }
    measured.push(requireComplete(side, await runner.measure(side, job)))
  }
  return measured
}

/** Heap that a conversation occupies after its turn. The baseline includes warm caches but no conversations. */
async function idle(runner: BenchRunner): Promise<Figure[]> {
  // Calibrated with 1.06 KB retained per conversation on purpose: 2,000 read 0.99 and 1.08, fewer read below 0.
  const turns = 2_000
  const options = { home: runner.folder(), durability: 'relaxed' as const, request: 'whole-history' as const }
  const job = { type: 'idle' as const, ...options, lanes: 64, warmUp: 500, turns }
  const { heapBytes } = requireComplete('engine', await runner.measure('engine', job))
  const detail = `heap after ${turns} conversations had a turn, minus before, per conversation; below 0 is noise`
  return [{ name: 'idle_kb', value: heapBytes / turns / 1_024, detail }]
}

/** Time from spawn to the end of a turn that a killed process left at its second tool call. */
async function resume(runner: BenchRunner, size: Size): Promise<Figure[]> {
  const options = { durability: 'strict' as const, request: 'whole-history' as const }
  const homes = { bare: runner.folder(), engine: runner.folder() }
  for (const side of SIDES) await runner.crash(side, { type: 'crash', ...options, home: homes[side], atStep: 2 })

  const times = { bare: [] as number[], engine: [] as number[] }
  // The first round is not counted: it reads the files from the disk.
  for (let round = 0; round <= (size === 'quick' ? 3 : 21); round++) {
    for (const side of SIDES) {
      const home = join(runner.folder(), 'copy')
      cpSync(homes[side], home, { recursive: true })
      const { ms, result } = await runner.timeToFirstLine(side, { type: 'resume', ...options, home })
      if (result.turns !== 1) throw new SideFailed(`the ${side} side found ${result.turns} interrupted turns, not 1`)
      requireComplete(side, result)
      if (round > 0) times[side].push(ms)
    }
  }
  const [bare, engine] = [median(times.bare), median(times.engine)]
  const value = median(times.engine.map((ms, round) => ms / times.bare[round]!))
  return [{ name: 'resume_ratio', value, detail: `${show(engine)} ms / ${show(bare)} ms from start to done` }]
}

/** A turn of a conversation with history: from the cache, against read from the database. */
async function warm(runner: BenchRunner, size: Size): Promise<Figure[]> {
  const plan = { messages: 1_000, turns: 40, warmUp: 15, request: 'current-turn' as const }
  const ratios: number[] = []
  let detail = ''
  for (let round = 0; round < (size === 'quick' ? 1 : 5); round++) {
    const [cold] = await seededTurns(runner, 'engine', { ...plan, cacheEntries: 0 })
    const [kept] = await seededTurns(runner, 'engine', plan)
    ratios.push(cpuPerTurn(kept!) / cpuPerTurn(cold!))
    detail = `${show(cpuPerTurn(kept!))} ms / ${show(cpuPerTurn(cold!))} ms of CPU per turn at 1,000 messages`
  }
  return [{ name: 'warm_turn_ratio', value: median(ratios), detail }]
}

/** Many conversations with a small cache: memory stays constant, and evictions do not delay turns. */
async function cache(runner: BenchRunner, size: Size): Promise<Figure[]> {
  const options = { durability: 'relaxed' as const, request: 'whole-history' as const }
  const [conversations, entries] = size === 'quick' ? [200, 20] : [1_000, 100]
  // The heap is constant after the second round, the resident memory after the fourth.
  const rounds = { lanes: 16, conversations, warmUp: 5, rounds: 4 }
  const touched = requireComplete(
    'engine',
    await runner.measure('engine', {
      type: 'touched',
      ...options,
      home: runner.folder(),
      cacheEntries: entries,
      ...rounds,
    }),
  )
  const workload = `${rounds.rounds} rounds of ${conversations} new conversations with a cache of ${entries}`
  const times = { evicting: [] as number[], alone: [] as number[] }
  const turns = { conversations: 50, warmUp: 150, turns: size === 'quick' ? 100 : 600 }
  for (let round = 0; round < (size === 'quick' ? 1 : 3); round++) {
    // With one entry every turn evicts the one before; with none nothing is cached or evicted.
    for (const [kind, cacheEntries] of [['evicting', 1] as const, ['alone', 0] as const]) {
      const job = { type: 'turn-times' as const, ...options, home: runner.folder(), cacheEntries, ...turns }
      times[kind].push(requireComplete('engine', await runner.measure('engine', job)).turnP99Ms)
    }
  }
  const [evicting, alone] = [median(times.evicting), median(times.alone)]
  return [
    { name: 'cache_heap_growth', value: touched.heapGrowth, detail: `heap, ${workload}` },
    { name: 'cache_resident_growth', value: touched.residentGrowth, detail: `resident memory, ${workload}` },
    {
      name: 'eviction_delay_ms',
      value: evicting - alone,
      detail: `p99 of a turn with an eviction ${show(evicting)} ms, without ${show(alone)} ms; below 0 is noise`,
    },
  ]
}

type ClientFigures = {
  client_cpu_ratio: Record<string, number>
  abort_p99_ms: number
  stall_error: number
  warm_request_ratio: number
}

/** The wire clients, in a separate process; the most expensive of the four dialects counts. */
async function client(): Promise<Figure[]> {
  const script = fileURLToPath(new URL('client.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script])
  const measured = JSON.parse(stdout) as ClientFigures
  const ratios = Object.entries(measured.client_cpu_ratio)
  const each = ratios.map(([dialect, ratio]) => `${dialect} ${show(ratio)}`).join(', ')
  return [
    { name: 'client_cpu_ratio', value: Math.max(...ratios.map(([, ratio]) => ratio)), detail: each },
    {
      name: 'abort_p99_ms',
      value: measured.abort_p99_ms,
      detail: 'from the abort to the server seeing the socket closed',
    },
    { name: 'stall_error', value: measured.stall_error, detail: 'relative error of the stall timeout' },
    {
      name: 'warm_request_ratio',
      value: measured.warm_request_ratio,
      detail: '5,000 messages, against joining cached text',
    },
  ]
}

/** A measurement counts only if every turn stored all of its messages. */
function requireComplete(side: SideName, measured: Measurement): Measurement {
  const expected = measured.turns * MESSAGES_PER_TURN
  if (measured.messages === expected) return measured
  throw new SideFailed(
    `the ${side} side left ${measured.messages} messages of ${measured.turns} turns, not ${expected}`,
  )
}

const cpuPerTurn = ({ cpuMs, turns }: Measurement): number => cpuMs / turns

const kilo = (count: number): string => `${show(count / 1_024)} KB`
