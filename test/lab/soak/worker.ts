import { existsSync, readdirSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { openApp } from '../../../src/app.ts'
import { createAgent } from '../../../src/service/agents/create-agent.ts'
import { flushAndExit } from '../../harness/flush-and-exit.ts'
import { startTraffic } from './clients.ts'
import { soakModel, soakTools } from './model.ts'
import { percentile } from './sample.ts'

// The server process of a soak test: runs agents on a real home under mixed traffic and reports samples.

const { SOAK_SEED = '1', SOAK_SAMPLE_MS = '2000' } = process.env
/** A full garbage collection blocks the event loop for about 50 ms: rare enough not to affect the percentiles. */
const SAMPLES_PER_GC = 5
const report = (what: string, value: object = {}) => process.stdout.write(`${JSON.stringify({ what, ...value })}\n`)

const app = await openApp({
  environment: process.env,
  role: 'owner',
  tools: soakTools(),
  providers: { soak: soakModel },
  report: (fault, where) =>
    report('fault', { text: `${where}: ${fault instanceof Error ? fault.stack : String(fault)}` }),
})
const agent = await createAgent(
  {
    name: 'soak',
    model: 'soak/first',
    fallback: ['soak/second'],
    tools: soakTools().map((tool) => tool.name),
  },
  app.context,
)
const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()
const traffic = startTraffic(agent, app.context, Number(SOAK_SEED))
const sampleMs = Number(SOAK_SAMPLE_MS)
let samples = 0
let heapAfterGc = 0
const sampling = setInterval(sample, sampleMs)
report('started')

createInterface({ input: process.stdin }).on('line', async (command) => {
  if (command !== 'drain') return
  clearInterval(sampling)
  const stuck = await traffic.drain()
  report('drained', { stuck, totals: traffic.totals })
  await app.close()
  flushAndExit()
})

function sample(): void {
  const { rss, heapUsed, external } = process.memoryUsage()
  if (samples++ % SAMPLES_PER_GC === 0) heapAfterGc = collectGarbage()
  const { sends, turns, ended } = traffic.takeTimes()
  report('sample', {
    rss,
    heap: heapUsed,
    heapAfterGc,
    external,
    files: openFiles(),
    sendP50: percentile(sends, 0.5),
    sendP99: percentile(sends, 0.99),
    turnP50: percentile(turns, 0.5),
    turnP99: percentile(turns, 0.99),
    loopP99: delay.percentile(99) / 1e6,
    loopMax: delay.max / 1e6,
    running: app.context.engine!.dispatcher.running().length,
    turnsPerSecond: (ended * 1_000) / sampleMs,
    totals: traffic.totals,
  })
  delay.reset()
}

/** Returns the heap size after a full collection, which grows only with a leak. */
function collectGarbage(): number {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

/** Zero where the system does not list open files. */
function openFiles(): number {
  return existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0
}
