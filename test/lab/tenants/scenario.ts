import { Worker } from 'node:worker_threads'
import { KEY, MODEL, openServer } from '../../http/fixture-server-process.ts'
import { made, tenantClient } from './tenant.ts'

type Latencies = { turns: number[]; reads: number[] }

export type TenantReport = {
  alone: Figures
  beside: Figures
  /** Of the 99th percentiles. */
  ratio: { turns: number; reads: number }
  /** Requests of the hostile tenant, by attack. */
  attacks: Record<string, number>
}

type Figures = { turns: Quantiles; reads: Quantiles }
type Quantiles = { count: number; p50: number; p99: number }

/** The quiet tenant sends a message and reads, this often. */
const EVERY_MS = 50
/** The attacks have begun. */
const SETTLE_MS = 3_000

/** A real server with two tenants: how long one waits alone, and beside a hostile one. */
export async function runTenants({
  seconds,
  only,
}: {
  seconds: number
  only?: string | undefined
}): Promise<TenantReport> {
  const server = await openServer({ HOLDFAST_DURABILITY: 'relaxed' })
  try {
    const operator = tenantClient(server.url(), KEY)
    const newKey = async (organization_id: string) =>
      (await made(operator.request('POST', '/v1/keys', { name: 'k', scope: 'agent', organization_id }))).key
    const quiet = (await made(operator.request('POST', '/v1/organizations', { name: 'quiet' }))).id
    const hostile = (await made(operator.request('POST', '/v1/organizations', { name: 'hostile' }))).id
    const quietKey = await newKey(quiet)
    // Warm: the first requests load code.
    await measure(server.url(), quietKey, 2_000)
    const alone = await measure(server.url(), quietKey, seconds * 1_000)
    const keys = [await newKey(hostile), await newKey(hostile), await newKey(hostile)]
    const attack = new Worker(new URL('./hostile.ts', import.meta.url), {
      workerData: { url: server.url(), keys, only },
    })
    let attacks: Record<string, number> = {}
    attack.on('message', (counts) => {
      attacks = counts
    })
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    const beside = await measure(server.url(), quietKey, seconds * 1_000)
    attack.postMessage('over')
    await new Promise((resolve) => attack.once('exit', resolve))
    const figures = { alone: figuresOf(alone), beside: figuresOf(beside) }
    return {
      ...figures,
      ratio: {
        turns: figures.beside.turns.p99 / figures.alone.turns.p99,
        reads: figures.beside.reads.p99 / figures.alone.reads.p99,
      },
      attacks,
    }
  } finally {
    await server.close()
  }
}

async function measure(url: string, key: string, ms: number): Promise<Latencies> {
  const client = tenantClient(url, key)
  const { id } = await made(client.request('POST', '/v1/agents', { name: 'quiet', model: MODEL }))
  const turns: number[] = []
  const reads: number[] = []
  const until = performance.now() + ms
  while (performance.now() < until) {
    const begun = performance.now()
    await made(client.request('POST', `/v1/agents/${id}/messages`, { input: 'hello' }))
    turns.push(performance.now() - begun)
    const read = performance.now()
    await client.request('GET', `/v1/agents/${id}`)
    reads.push(performance.now() - read)
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
  return { turns, reads }
}

const figuresOf = ({ turns, reads }: Latencies): Figures => ({ turns: quantilesOf(turns), reads: quantilesOf(reads) })

const quantilesOf = (all: number[]): Quantiles => ({
  count: all.length,
  p50: quantile(all, 0.5),
  p99: quantile(all, 0.99),
})

function quantile(all: number[], share: number): number {
  const sorted = all.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

export function tenantScreen({ alone, beside, ratio, attacks }: TenantReport): string {
  const line = (what: 'turns' | 'reads') =>
    `${what}: p99 ${alone[what].p99.toFixed(1)} ms alone (${alone[what].count}), ${beside[what].p99.toFixed(1)} ms beside a hostile tenant (${beside[what].count}), ratio ${ratio[what].toFixed(2)}; p50 ${alone[what].p50.toFixed(1)} and ${beside[what].p50.toFixed(1)} ms`
  const counts = Object.entries(attacks).map(([name, count]) => `${name} ${count}`)
  return `Two tenants, one hostile (budget: 2)\n  ${line('turns')}\n  ${line('reads')}\n  requests of the hostile one: ${counts.join(', ')}`
}
