import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { defined } from '../../src/core/defined.ts'
import { errorText } from '../../src/core/error-text.ts'
import { startPostgres } from '../harness/postgres.ts'
import { runGatewayKills } from './kill/gateway-kills.ts'
import { runKills, runKillsOverHttp } from './kill/harness.ts'
import { KILLED_PLATFORM_NAMES, type KilledPlatformName } from './kill/killed-platforms.ts'
import { PLANTED_BUGS } from './planted/bugs.ts'
import { huntAll } from './planted/hunt.ts'
import { complaintsOf, type LabReport, percentile, summaryOf } from './report/lab-report.ts'
import { pageOf } from './report/page.ts'
import { screenOf } from './report/screen.ts'
import { printSeed } from './simulator/print-seed.ts'
import { IMPORT_WORKER, runSeeds } from './simulator/run-seeds.ts'
import { runTenants, tenantScreen } from './tenants/scenario.ts'

const USAGE = `npm run lab -- [options]

The simulator, the planted bugs and the kill harness, on one screen and in lab-report/. Without options: the full run, hours.

  --quick            a part of it, minutes
  --seeds NUMBER     seeds of the simulator; planted bugs are hunted, too
  --imports NUMBER   simulated imports
  --kills NUMBER     kills of the kill harness, 0 for none
  --from SEED        the first seed (1)
  --database NAME    sqlite or postgres, for kills
  --seed SEED        one seed as a story, and nothing else
  --http             the kills of the server under the official client, and nothing else
  --gateway          the kills of servers between messages of a chat platform and their answers, and nothing else
  --platform NAME    on telegram (the default), slack, discord, matrix or all of them
  --servers NUMBER   so many servers on one PostgreSQL, with the same accounts
  --pauses           half of the kills are pauses (SIGSTOP), half of these longer than a lease
  --tenants SECONDS  two tenants, one hostile: how much longer the other one waits, and nothing else
  --attack NAME      only one of its attacks: floods, 'slow readers', schemas, commands, workspaces, queue
  --json             the result as JSON
`

const OPTIONS = {
  seeds: { type: 'string' },
  imports: { type: 'string' },
  kills: { type: 'string' },
  seed: { type: 'string' },
  from: { type: 'string', default: '1' },
  database: { type: 'string' },
  quick: { type: 'boolean', default: false },
  http: { type: 'boolean', default: false },
  gateway: { type: 'boolean', default: false },
  platform: { type: 'string', default: 'telegram' },
  servers: { type: 'string', default: '1' },
  pauses: { type: 'boolean', default: false },
  tenants: { type: 'string' },
  attack: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const values = readOptions()

function readOptions() {
  try {
    return parseArgs({ options: OPTIONS }).values
  } catch (fault) {
    console.error(`${errorText(fault)}\n\n${USAGE}`)
    process.exit(2)
  }
}

const FULL = { seeds: 20_000, imports: 2_000, kills: 1_000 }
const QUICK = { seeds: 500, imports: 100, kills: 50 }
/** A server starts more slowly than a worker. */
const SERVED_QUICK = 20
/** How much longer a tenant may wait beside a hostile one. */
const TENANT_BUDGET = 2
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const REPORT = join(ROOT, 'lab-report')

if (values.help) {
  console.log(USAGE)
} else if (values.seed !== undefined) {
  process.exitCode = await printSeed(numberOf('seed', values.seed))
} else if (values.tenants !== undefined) {
  process.exitCode = await compareTenants(numberOf('tenants', values.tenants))
} else if (values.http) {
  process.exitCode = await killOverHttp()
} else if (values.gateway) {
  process.exitCode = await killUnderChats()
} else {
  process.exitCode = await runLab()
}

/** 1,000 kills by default. */
async function killUnderChats(): Promise<number> {
  const kills = values.kills === undefined ? FULL.kills : numberOf('kills', values.kills)
  const { platform, pauses } = values
  const isKnown = (name: string): name is KilledPlatformName | 'all' =>
    name === 'all' || (KILLED_PLATFORM_NAMES as string[]).includes(name)
  if (!isKnown(platform))
    throw new Error(`--platform must be ${KILLED_PLATFORM_NAMES.join(', ')} or all, not "${platform}"`)
  const servers = numberOf('servers', values.servers)
  const postgres = servers > 1 || values.database === 'postgres' ? await startPostgres() : undefined
  if (postgres && 'skip' in postgres) throw new Error(postgres.skip)
  try {
    const report = await runGatewayKills({
      kills,
      seed: numberOf('from', values.from),
      platform,
      servers,
      pauses,
      onProgress: console.error,
      ...defined({ databaseUrl: postgres?.url }),
    })
    console.log(JSON.stringify(report, null, 2))
    return report.violations.length === 0 ? 0 : 1
  } finally {
    await postgres?.stop()
  }
}

async function runLab(): Promise<number> {
  const isChosen = [values.seeds, values.imports, values.kills].some((amount) => amount !== undefined)
  const amounts = values.quick || isChosen ? QUICK : FULL
  const seeds = values.seeds === undefined ? amounts.seeds : numberOf('seeds', values.seeds)
  const imports = values.imports === undefined ? amounts.imports : numberOf('imports', values.imports)
  const kills = values.kills === undefined ? amounts.kills : numberOf('kills', values.kills)
  const databases = values.database ? [values.database] : values.quick || isChosen ? ['sqlite'] : ['sqlite', 'postgres']
  // A few seeds may miss a rare state; a run of this size must reach all of them.
  const isLong = seeds >= QUICK.seeds
  const workers = Math.min(2, availableParallelism())
  const started = Date.now()

  const from = numberOf('from', values.from)
  const simulated = await runSeeds({
    from,
    to: from + seeds - 1,
    workers,
    onSeed: (done) => progress(`seed ${done} of ${seeds}`),
    onFound: ({ seed, violations }) => console.error(`\nseed ${seed}: ${violations.join('; ')}`),
  })
  const others: LabReport['others'] = []
  if (imports > 0) {
    const report = await runSeeds({
      from,
      to: from + imports - 1,
      workers,
      worker: IMPORT_WORKER,
      onSeed: (done) => progress(`import ${done} of ${imports}`),
      onFound: ({ seed, violations }) => console.error(`\nimport, seed ${seed}: ${violations.join('; ')}`),
    })
    others.push({ name: 'imports', report })
  }
  let hunted = 0
  const planted = await huntAll(PLANTED_BUGS, {
    workers,
    onCatch: ({ name }) => progress(`planted bug ${++hunted} of ${PLANTED_BUGS.length}: ${name}`),
  })
  const killed: LabReport['kills'] = []
  for (const database of kills > 0 ? databases : []) {
    progress(`${kills} kills on ${database}`)
    if (database !== 'sqlite' && database !== 'postgres')
      throw new Error(`--database must be sqlite or postgres, not "${database}"`)
    killed.push({ database, report: await runKills({ kills, seed: from, database }) })
  }
  if (kills > 0 && !isChosen) {
    const served = values.quick ? SERVED_QUICK : kills
    progress(`${served} kills over HTTP`)
    killed.push({ database: 'sqlite over HTTP', report: await runKillsOverHttp({ kills: served, seed: from }) })
  }
  const report: LabReport = {
    startedAt: new Date(started).toISOString(),
    commit: commitName(),
    ms: Date.now() - started,
    seeds: simulated,
    others,
    planted,
    kills: killed,
  }
  progress('')
  write(report, isLong)
  console.log(values.json ? JSON.stringify(summaryOf(report)) : screenOf(report, { isLong }))
  return complaintsOf(report, { isLong }).length === 0 ? 0 : 1
}

async function compareTenants(seconds: number): Promise<number> {
  const report = await runTenants({ seconds, only: values.attack })
  console.log(values.json ? JSON.stringify(report) : tenantScreen(report))
  return Math.max(report.ratio.turns, report.ratio.reads) <= TENANT_BUDGET ? 0 : 1
}

/** Runs only the kills of the server under the official client. */
async function killOverHttp(): Promise<number> {
  const kills = numberOf('kills', values.kills ?? String(FULL.kills))
  const database = values.database === 'postgres' ? 'postgres' : 'sqlite'
  const report = await runKillsOverHttp({ kills, seed: numberOf('from', values.from), database })
  const { recoveries, violations, ...counts } = report
  const summary = { database, ...counts, recoveries: recoveries.length, violations }
  const [p50, p99] = [percentile(recoveries, 0.5), percentile(recoveries, 0.99)]
  console.log(JSON.stringify({ ...summary, recovery_p50_ms: p50, recovery_p99_ms: p99 }))
  return violations.length === 0 ? 0 : 1
}

function write(report: LabReport, isLong: boolean): void {
  mkdirSync(REPORT, { recursive: true })
  const output = { ...summaryOf(report), complaints: complaintsOf(report, { isLong }), ...report }
  writeFileSync(join(REPORT, 'report.json'), `${JSON.stringify(output, undefined, 2)}\n`)
  writeFileSync(join(REPORT, 'index.html'), pageOf(report, { isLong }))
}

/** Overwrites one progress line on a terminal; prints nothing elsewhere. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}

/** The tested commit; unknown in a copy without a repository. */
function commitName(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], { cwd: ROOT, encoding: 'utf8' }).trim()
  } catch {
    return 'unknown commit'
  }
}

function numberOf(option: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 0) throw new Error(`--${option} must be a whole number, not "${text}"`)
  return number
}
