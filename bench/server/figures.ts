import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { request } from 'undici'
import type { BenchRunner } from '../bench-runner.ts'
import type { Size } from '../benchmarks.ts'
import { type Figure, median, show } from '../figures.ts'
import {
  cpuOf,
  KEY,
  type Running,
  residentBytes,
  startFastify,
  startHoldfast,
  startModel,
  startRelay,
} from './processes.ts'
import { chunkDelays, openWatchers, readsPerSecond } from './streams.ts'

/** The headers of the official client. */
const HEADERS = { authorization: `Bearer ${KEY}`, 'x-stainless-package-version': '1.12.1' }

/** Compares the server with bare servers that do the same work. */
export async function server(runner: BenchRunner, size: Size): Promise<Figure[]> {
  const model = await startModel()
  try {
    return [
      ...(await chunkDelay(model, runner, size)),
      await reads(model, runner, size),
      await watchers(model, runner, size),
      await turns(model, runner, size),
      await ready(model, runner, size),
    ]
  } finally {
    await model.stop()
  }
}

async function post(url: string, body: object): Promise<Record<string, unknown>> {
  const reply = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...HEADERS },
    body: JSON.stringify(body),
  })
  const text = await reply.body.text()
  if (reply.statusCode !== 200) throw new Error(`${url} answered ${reply.statusCode}: ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}

const newAgent = async ({ url }: Running, model: string, tools: string[] = []): Promise<string> =>
  (
    await post(`${url}/v1/agents/`, {
      model: `openai/${model}`,
      system: 'Use your tools.',
      tools,
      include_base_tools: false,
    })
  ).id as string

/** The delay of a chunk from the model to the reader, against a relay that only forwards it. */
async function chunkDelay(model: Running, runner: BenchRunner, size: Size): Promise<Figure[]> {
  const relay = await startRelay(model.url)
  const sides = {
    relaxed: await startHoldfast({ home: runner.folder(), model: model.url, durability: 'relaxed' }),
    strict: await startHoldfast({ home: runner.folder(), model: model.url, durability: 'strict' }),
  }
  const ask = { model: 'paced', stream: true, messages: [{ role: 'user', content: 'Go.' }] }
  const bare = () => chunkDelays(relay.url, { body: ask })
  const ours = async (side: Running) => {
    const url = `${side.url}/v1/agents/${await newAgent(side, 'paced')}/messages/stream`
    const body = { messages: [{ role: 'user', content: 'Go.' }], stream_tokens: true, include_pings: false }
    return chunkDelays(url, { headers: HEADERS, body })
  }
  const many = async (one: () => Promise<number[]>) => (await Promise.all(Array.from({ length: 16 }, one))).flat()
  const measured = { bare: [] as number[], relaxed: [] as number[], strict: [] as number[] }
  const high99 = { bare: [] as number[], relaxed: [] as number[] }
  for (let round = 0; round <= (size === 'quick' ? 1 : 9); round++) {
    const [one, two, three] = [await bare(), await ours(sides.relaxed), await ours(sides.strict)]
    const [four, five] = [await many(bare), await many(() => ours(sides.relaxed))]
    if (round === 0) continue
    measured.bare.push(...one)
    measured.relaxed.push(...two)
    measured.strict.push(...three)
    high99.bare.push(percentile99(four))
    high99.relaxed.push(percentile99(five))
  }
  for (const side of [relay, sides.relaxed, sides.strict]) await side.stop()
  const p50 = { bare: median(measured.bare), relaxed: median(measured.relaxed), strict: median(measured.strict) }
  const p99 = { bare: median(high99.bare), relaxed: median(high99.relaxed) }
  const inMs = (ms: number) => `${show(ms)} ms`
  return [
    {
      name: 'chunk_delay_ratio',
      value: p50.relaxed / p50.bare,
      detail: `p50 ${inMs(p50.relaxed)} / ${inMs(p50.bare)}`,
    },
    { name: 'chunk_delay_strict', value: p50.strict / p50.bare, detail: `p50 ${inMs(p50.strict)} / ${inMs(p50.bare)}` },
    {
      name: 'chunk_delay_p99',
      // Compares measurements that are adjacent in time: one bad moment of the machine decides a p99.
      value: median(high99.relaxed.map((ms, round) => ms / high99.bare[round]!)),
      detail: `16 streams, ${inMs(p99.relaxed)} / ${inMs(p99.bare)}`,
    },
  ]
}

const percentile99 = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[Math.floor(values.length * 0.99)]!

/** Polling a run and reading a block, against a bare server that sends the same row unchanged. */
async function reads(model: Running, runner: BenchRunner, size: Size): Promise<Figure> {
  const home = runner.folder()
  const ours = await startHoldfast({ home, model: model.url, durability: 'relaxed' })
  const agent = await newAgent(ours, 'tools', ['current_time'])
  const body = { messages: [{ role: 'user', content: 'What time is it?' }] }
  await post(`${ours.url}/v1/agents/${agent}/messages`, body)
  const run = await post(`${ours.url}/v1/agents/${agent}/messages/async`, body)
  const block = await post(`${ours.url}/v1/blocks/`, { label: 'notes', value: 'The weather in Lisbon was fine.' })
  const bare = await startFastify(join(home, 'holdfast.db'))
  const details: string[] = []
  const worst: number[] = []
  for (const path of [`/v1/runs/${run.id}`, `/v1/blocks/${block.id}`]) {
    const ratios: number[] = []
    let last = ''
    for (let round = 0; round <= (size === 'quick' ? 1 : 5); round++) {
      const theirs = await readsPerSecond(bare.url + path, HEADERS, 1)
      const mine = await readsPerSecond(ours.url + path, HEADERS, 1)
      if (round > 0) ratios.push(theirs / mine)
      last = `${Math.round(mine)} / ${Math.round(theirs)}`
    }
    worst.push(median(ratios))
    details.push(`${path.split('/')[2]} ${last} a second`)
  }
  await bare.stop()
  await ours.stop()
  return { name: 'read_ratio', value: Math.max(...worst), detail: details.join(', ') }
}

/** Memory of the process for each stream that waits for a silent run. */
async function watchers(model: Running, runner: BenchRunner, size: Size): Promise<Figure> {
  const count = size === 'quick' ? 1_000 : 5_000
  const ours = await startHoldfast({ home: runner.folder(), model: model.url, durability: 'relaxed' })
  const agent = await newAgent(ours, 'silent')
  const body = { messages: [{ role: 'user', content: 'Wait.' }] }
  const { id } = await post(`${ours.url}/v1/agents/${agent}/messages/async`, body)
  const url = `${ours.url}/v1/runs/${id}/stream`
  // Grows the young generation of the heap first, so that it does not count for the watchers.
  await readsPerSecond(`${ours.url}/v1/agents/${agent}`, HEADERS, 3)
  const closeFirst = await openWatchers(url, { headers: HEADERS, count: 200 })
  const before = residentBytes(ours.pid)
  const close = await openWatchers(url, { headers: HEADERS, count })
  const each = (residentBytes(ours.pid) - before) / count / 1_024
  await close()
  await closeFirst()
  await post(`${ours.url}/v1/agents/${agent}/messages/cancel`, {})
  await ours.stop()
  return { name: 'watcher_kb', value: each, detail: `resident memory for each of ${count} streams of a silent run` }
}

/** CPU of a turn with four tool steps, 64 at once and awaited over HTTP, against the engine without a server. */
async function turns(model: Running, runner: BenchRunner, size: Size): Promise<Figure> {
  const [lanes, count] = [64, size === 'quick' ? 64 : 256]
  const script = fileURLToPath(new URL('engine.ts', import.meta.url))
  const alone = async () => {
    const job = [script, runner.folder(), model.url, `${lanes}`, `${count}`]
    return Number((await promisify(execFile)(process.execPath, job)).stdout)
  }
  const served = async () => {
    const ours = await startHoldfast({ home: runner.folder(), model: model.url, durability: 'relaxed' })
    const agents = await Promise.all(Array.from({ length: lanes }, () => newAgent(ours, 'tools', ['current_time'])))
    const round = async () => {
      let next = 0
      const lane = async (agent: string) => {
        while (next++ < count)
          await post(`${ours.url}/v1/agents/${agent}/messages`, {
            messages: [{ role: 'user', content: 'What time is it?' }],
          })
      }
      await Promise.all(agents.map(lane))
    }
    await round()
    const before = cpuOf(ours.pid)
    await round()
    const cost = (cpuOf(ours.pid) - before) / count
    await ours.stop()
    return cost
  }
  const ratios: number[] = []
  let last = ''
  for (let round = 0; round < (size === 'quick' ? 1 : 3); round++) {
    const [engine, server] = [await alone(), await served()]
    ratios.push(server / engine)
    last = `${show(server)} ms / ${show(engine)} ms of CPU per turn`
  }
  return { name: 'served_turn_ratio', value: median(ratios), detail: last }
}

/** Time from the start of the process to readiness, on a home with history. */
async function ready(model: Running, runner: BenchRunner, size: Size): Promise<Figure> {
  const messages = size === 'quick' ? 10_000 : 100_000
  const options = { home: runner.folder(), durability: 'relaxed' as const, request: 'whole-history' as const }
  await runner.measure('engine', { type: 'seed', ...options, messages })
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    const from = performance.now()
    const ours = await startHoldfast({ ...options, model: model.url })
    const { statusCode } = await request(`${ours.url}/v1/ready/`, { headers: HEADERS })
    times.push(performance.now() - from)
    await ours.stop()
    if (statusCode !== 200) throw new Error(`the server was not ready: ${statusCode}`)
  }
  return { name: 'ready_ms', value: median(times), detail: `with ${messages} messages stored` }
}
