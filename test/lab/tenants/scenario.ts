import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { defined } from '../../../src/core/defined.ts'
import { KEY, MODEL, openServer, type Server } from '../../http/fixture-server-process.ts'
import type { Orders } from './hostile.ts'
import { type ProcessorTimes, processorTimes, timesBetween } from './processor-times.ts'
import { made, type TenantClient, tenantClient } from './tenant.ts'

type Latencies = { turns: number[]; reads: number[] }

export type TenantReport = {
  alone: Figures
  beside: Figures
  /** A server that is not attacked, measured in turn with the other one, on the same processors. */
  unattacked: Figures
  /** Of the 99th percentiles: to the time before the attack, and to the server that is not attacked. */
  ratio: { turns: number; reads: number }
  ratioToUnattacked: { turns: number; reads: number }
  /** Requests of the hostile tenant, by attack. */
  attacks: Record<string, number>
}

type Figures = { turns: Quantiles; reads: Quantiles; processor: ProcessorTimes }
type Quantiles = { count: number; p50: number; p99: number }

/** The quiet tenant sends a message and reads, this often. */
const EVERY_MS = 50
/** The attacks have begun. */
const SETTLE_MS = 3_000

const HOSTILE = fileURLToPath(new URL('./hostile.ts', import.meta.url))

type RunOptions = { seconds: number; only?: string | undefined }

/** Real servers with two tenants: how long one waits alone, and beside a hostile one. */
export async function runTenants({ seconds, only }: RunOptions): Promise<TenantReport> {
  const servers: Server[] = []
  try {
    const attacked = await newTenants(servers)
    const other = await newTenants(servers)
    const ms = seconds * 1_000
    const [alone] = await measure([attacked], ms)
    const keys = [await attacked.newKey('hostile'), await attacked.newKey('hostile'), await attacked.newKey('hostile')]
    const orders: Orders = { url: attacked.server.url(), keys, ...defined({ only }) }
    // In a session of its own: Linux divides the processors between sessions, and a client is not part of its server.
    const attack = fork(HOSTILE, [JSON.stringify(orders)], { detached: true, stdio: 'inherit' })
    let attacks: Record<string, number> = {}
    attack.on('message', (counts) => {
      attacks = counts as typeof attacks
    })
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    const [beside, unattacked] = await measure([attacked, other], ms * 2)
    attack.send('over')
    await new Promise((resolve) => attack.once('exit', resolve))
    return {
      alone: alone!,
      beside: beside!,
      unattacked: unattacked!,
      ratio: ratioOf(beside!, alone!),
      ratioToUnattacked: ratioOf(beside!, unattacked!),
      attacks,
    }
  } finally {
    for (const server of servers) await server.close()
  }
}

const ratioOf = (one: Figures, other: Figures) => ({
  turns: one.turns.p99 / other.turns.p99,
  reads: one.reads.p99 / other.reads.p99,
})

type Tenants = {
  server: Server
  client: TenantClient
  agentId: string
  newKey(organization: 'quiet' | 'hostile'): Promise<string>
}

/** A warm server: the first requests load code. */
async function newTenants(servers: Server[]): Promise<Tenants> {
  const server = await openServer({ HOLDFAST_DURABILITY: 'relaxed' })
  servers.push(server)
  const operator = tenantClient(server.url(), KEY)
  const idOf = async (name: string) => (await made(operator.request('POST', '/v1/organizations', { name }))).id
  const ids = { quiet: await idOf('quiet'), hostile: await idOf('hostile') }
  const newKey = async (name: 'quiet' | 'hostile') => {
    const request = { name: 'k', scope: 'agent', organization_id: ids[name] }
    return (await made(operator.request('POST', '/v1/keys', request))).key
  }
  const client = tenantClient(server.url(), await newKey('quiet'))
  const { id: agentId } = await made(client.request('POST', '/v1/agents', { name: 'quiet', model: MODEL }))
  const tenants = { server, client, agentId, newKey }
  await measure([tenants], 2_000)
  return tenants
}

/** Sends to these servers in turn. */
async function measure(all: Tenants[], ms: number): Promise<Figures[]> {
  const measured = all.map((tenants) => ({
    ...tenants,
    latencies: { turns: [], reads: [] } as Latencies,
    began: processorTimes(tenants.server.pid()),
  }))
  const until = performance.now() + ms
  while (performance.now() < until) {
    for (const { client, agentId, latencies } of measured) {
      const begun = performance.now()
      await made(client.request('POST', `/v1/agents/${agentId}/messages`, { input: 'hello' }))
      latencies.turns.push(performance.now() - begun)
      const read = performance.now()
      await client.request('GET', `/v1/agents/${agentId}`)
      latencies.reads.push(performance.now() - read)
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
    }
  }
  return measured.map(({ server, latencies: { turns, reads }, began }) => ({
    turns: quantilesOf(turns),
    reads: quantilesOf(reads),
    processor: timesBetween(began, processorTimes(server.pid())),
  }))
}

const quantilesOf = (all: number[]): Quantiles => ({
  count: all.length,
  p50: quantile(all, 0.5),
  p99: quantile(all, 0.99),
})

function quantile(all: number[], share: number): number {
  const sorted = all.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

export function tenantScreen(report: TenantReport): string {
  const { alone, beside, unattacked, ratio, ratioToUnattacked, attacks } = report
  const line = (what: 'turns' | 'reads') =>
    `${what}: p99 ${alone[what].p99.toFixed(1)} ms alone (${alone[what].count}), ${beside[what].p99.toFixed(1)} ms beside a hostile tenant (${beside[what].count}), ${unattacked[what].p99.toFixed(1)} ms meanwhile on a server that is not attacked; ratio to alone ${ratio[what].toFixed(2)}, to the other server ${ratioToUnattacked[what].toFixed(2)}; p50 ${alone[what].p50.toFixed(1)}, ${beside[what].p50.toFixed(1)} and ${unattacked[what].p50.toFixed(1)} ms`
  const processor = ({ processor: { ranMs, waitedMs } }: Figures) =>
    `${ranMs.toFixed(0)} ms, and waited ${waitedMs.toFixed(0)} ms for a processor`
  const counts = Object.entries(attacks).map(([name, count]) => `${name} ${count}`)
  return [
    'Two tenants, one hostile (budget: 2)',
    line('turns'),
    line('reads'),
    `the event loop ran ${processor(alone)} alone; ${processor(beside)} attacked; ${processor(unattacked)} on the other server`,
    `requests of the hostile one: ${counts.join(', ')}`,
  ].join('\n  ')
}
