import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { defined } from '../src/core/defined.ts'

/** One side of the comparison: it runs turns. Each measurement starts a new process with one side. */
export type Side = {
  newConversations(count: number): Promise<string[]>
  /** Adds history to a conversation. */
  seed(conversation: string, messages: number): Promise<void>
  runTurn(conversation: string): Promise<void>
  countMessages(conversation: string): Promise<number>
  /** Finishes the turns of a killed process; returns their conversations. */
  resume(): Promise<string[]>
  /** Throws if the last turn stored less than its side promises. */
  check(): Promise<void>
  close(): Promise<void>
}

export type SideOptions = {
  source: string
  home: string
  durability: 'relaxed' | 'strict'
  request: 'whole-history' | 'current-turn'
  /** Where Holdfast's compiled files are, as a URL that ends with a slash. */
  dist: string
  /** How many conversations Holdfast caches between turns; absent for its default. */
  cacheEntries?: number
  onTool?(): void
}

export type Job = Omit<SideOptions, 'onTool'> &
  (
    | { type: 'fresh'; lanes: number; warmUp: number; turns: number; watchLoop?: true }
    | { type: 'seed'; messages: number }
    | { type: 'seeded'; conversation: string; warmUp: number; turns: number }
    | { type: 'idle'; lanes: number; warmUp: number; turns: number }
    /** Each round uses as many new, equal conversations; after the first rounds memory must stay constant. */
    | { type: 'touched'; lanes: number; conversations: number; warmUp: number; rounds: number }
    /** One turn after the other, each in the next conversation. */
    | { type: 'turn-times'; conversations: number; warmUp: number; turns: number }
    /** The process kills itself while the tool of step `atStep` runs. */
    | { type: 'crash'; atStep: number }
    | { type: 'resume' }
  )

export type Measurement = {
  turns: number
  /** The number of messages that the measured turns stored, to check that the work was done. */
  messages: number
  cpuMs: number
  wallMs: number
  /** Bytes written to the kernel (files and sockets), and bytes that it wrote to the disk. */
  writtenBytes: number
  diskBytes: number
  heapBytes: number
  loopDelayP99Ms: number
  /** The largest of the rounds divided by the first. */
  heapGrowth: number
  residentGrowth: number
  turnP99Ms: number
  conversation: string
}

/** Reads the job from the command line and prints the measurement as one line of JSON. */
export async function runJobFromArgv(openSide: (options: SideOptions) => Promise<Side>): Promise<void> {
  const job = JSON.parse(process.argv[2]!) as Job
  if (job.type === 'fresh') await warmUp(openSide, job)
  const side = await openSide({
    ...job,
    ...defined({ onTool: job.type === 'crash' ? killAtStep(job.atStep) : undefined }),
  })
  const result = await runJob(job, side)
  await side.close()
  process.stdout.write(`${JSON.stringify(result)}\n`)
}

/** Warms up the code in a separate home, without fsync, so that the measured database starts empty. */
async function warmUp(openSide: (options: SideOptions) => Promise<Side>, job: Extract<Job, { type: 'fresh' }>) {
  const side = await openSide({ ...job, home: join(job.home, 'warm-up'), durability: 'relaxed' })
  await runAll(side, await side.newConversations(job.warmUp), job.lanes)
  await side.close()
}

async function runJob(job: Job, side: Side): Promise<Partial<Measurement>> {
  switch (job.type) {
    case 'fresh': {
      const measured = await side.newConversations(job.turns)
      const result = await measure(() => runAll(side, measured, job.lanes), job)
      await side.check()
      return { ...result, turns: job.turns, messages: await countAll(side, measured) }
    }
    case 'idle': {
      const rounds = [await side.newConversations(job.warmUp), await side.newConversations(job.turns)]
      const measured = await side.newConversations(job.turns)
      // Memory that the process frees once must be freed in the rounds before: it would hide what conversations occupy.
      for (const round of rounds) {
        await runAll(side, round, job.lanes)
        await settledHeap()
      }
      const before = await settledHeap()
      await runAll(side, measured, job.lanes)
      const heapBytes = (await settledHeap()) - before
      return { heapBytes, turns: job.turns, messages: await countAll(side, measured) }
    }
    case 'touched': {
      const all: string[] = []
      const heaps: number[] = []
      const residents: number[] = []
      for (let round = 0; round < job.warmUp + job.rounds; round++) {
        const touched = await side.newConversations(job.conversations)
        all.push(...touched)
        await runAll(side, touched, job.lanes)
        const heap = await settledHeap()
        if (round < job.warmUp) continue
        heaps.push(heap)
        residents.push(process.memoryUsage().rss)
      }
      const growth = (values: number[]) => Math.max(...values) / values[0]!
      const turns = job.conversations * (job.warmUp + job.rounds)
      const messages = await countAll(side, all)
      return { heapGrowth: growth(heaps), residentGrowth: growth(residents), heapBytes: heaps[0]!, turns, messages }
    }
    case 'turn-times': {
      const conversations = await side.newConversations(job.conversations)
      const times: number[] = []
      for (let turn = 0; turn < job.warmUp + job.turns; turn++) {
        const from = performance.now()
        await side.runTurn(conversations[turn % conversations.length]!)
        if (turn >= job.warmUp) times.push(performance.now() - from)
      }
      times.sort((one, other) => one - other)
      const messages = await countAll(side, conversations)
      return { turnP99Ms: times[Math.floor(times.length * 0.99)]!, turns: job.warmUp + job.turns, messages }
    }
    case 'seed': {
      const [conversation] = await side.newConversations(1)
      await side.seed(conversation!, job.messages)
      return { conversation: conversation!, messages: await side.countMessages(conversation!) }
    }
    case 'seeded': {
      for (let turn = 0; turn < job.warmUp; turn++) await side.runTurn(job.conversation)
      const before = await side.countMessages(job.conversation)
      const result = await measure(async () => {
        for (let turn = 0; turn < job.turns; turn++) await side.runTurn(job.conversation)
      })
      return { ...result, turns: job.turns, messages: (await side.countMessages(job.conversation)) - before }
    }
    case 'crash': {
      const [conversation] = await side.newConversations(1)
      await side.runTurn(conversation!)
      throw new Error('the turn ended although its process should have been killed')
    }
    case 'resume': {
      const conversations = await side.resume()
      // The parent stops its timer at this line; the rest checks the result.
      process.stdout.write('done\n')
      return { turns: conversations.length, messages: await countAll(side, conversations) }
    }
  }
}

/** Every conversation gets one turn; at most `lanes` at a time. */
async function runAll(side: Side, conversations: readonly string[], lanes: number): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < conversations.length) await side.runTurn(conversations[next++]!)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

async function countAll(side: Side, conversations: readonly string[]): Promise<number> {
  let sum = 0
  for (const conversation of conversations) sum += await side.countMessages(conversation)
  return sum
}

/** Resolution of the event loop monitor; its samples include it, so it is subtracted. */
const LOOP_RESOLUTION_MS = 1

async function measure(work: () => Promise<void>, { watchLoop }: { watchLoop?: true } = {}) {
  globalThis.gc?.()
  const delays = watchLoop ? monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS }) : undefined
  delays?.enable()
  const io = readIo()
  const start = performance.now()
  const cpu = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(cpu)
  const wallMs = performance.now() - start
  const after = readIo()
  delays?.disable()
  return {
    cpuMs: (user + system) / 1_000,
    wallMs,
    writtenBytes: after.wchar - io.wchar,
    diskBytes: after.write_bytes - io.write_bytes,
    loopDelayP99Ms: delays ? Math.max(0, delays.percentile(99) / 1e6 - LOOP_RESOLUTION_MS) : 0,
  }
}

/** For all threads of this process; zero if the kernel does not provide it. */
function readIo(): { wchar: number; write_bytes: number } {
  try {
    const text = readFileSync('/proc/self/io', 'utf8')
    const field = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
    return { wchar: field('wchar'), write_bytes: field('write_bytes') }
  } catch {
    return { wchar: 0, write_bytes: 0 }
  }
}

/** The heap after repeated collections: sockets close, finalizers run and startup code is freed in between. */
async function settledHeap(): Promise<number> {
  if (!globalThis.gc) throw new Error('start this side with --expose-gc')
  for (let round = 0; round < 12; round++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    globalThis.gc()
  }
  return process.memoryUsage().heapUsed
}

function killAtStep(step: number): () => void {
  let calls = 0
  return () => {
    if (++calls === step) process.kill(process.pid, 'SIGKILL')
  }
}
