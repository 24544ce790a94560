import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type CliResult, holdfast, newHome, startHoldfast } from '../cli/holdfast.ts'
import { agentId, messageId } from '../harness/old-server/old-world.ts'
import { startPostgres } from '../harness/postgres.ts'

const SIZE = { agents: 50, conversations: 1, messages: 2_000, passages: 400, tools: 300 }
const MESSAGES = SIZE.agents * (1 + SIZE.conversations) * SIZE.messages
/** Three thousand a second leave this much processor time for one. */
const MS_PER_MESSAGE = 1_000 / 3_000
const KILLS = [0.15, 0.4, 0.7]

type Place = {
  environment: Record<string, string>
  countMessages(home: string): Promise<number>
  ids(home: string): Promise<string[]>
}

const SQLITE: Place = {
  environment: {},
  countMessages: async (home) => query(home, 'select count(*) as value from messages')[0] as number,
  ids: async (home) => query(home, 'select id as value from messages order by id') as string[],
}

function query(home: string, sql: string): unknown[] {
  try {
    const database = new DatabaseSync(join(home, 'holdfast.db'), { readOnly: true, timeout: 5_000 })
    const rows = database.prepare(sql).all()
    database.close()
    return rows.map(({ value }) => value)
  } catch {
    // Not created yet.
    return [0]
  }
}

test(
  'a large server survives three kill -9 and a repeat on SQLite: counts equal, ids kept, nothing twice',
  { timeout: 900_000 },
  (context) => survives(context, SQLITE),
)

test('the same on PostgreSQL', { timeout: 900_000 }, async (context) => {
  const postgres = await startPostgres()
  if ('skip' in postgres) return context.skip(postgres.skip)
  const pool = new pg.Pool({ connectionString: postgres.url, max: 1 })
  pool.on('error', () => undefined)
  const values = async (sql: string) => {
    const { rows } = await pool.query(sql).catch(() => ({ rows: [] as { value: string }[] }))
    return rows.map(({ value }) => value)
  }
  context.after(async () => {
    await pool.end()
    await postgres.stop()
  })
  await survives(context, {
    environment: { DATABASE_URL: postgres.url },
    countMessages: async () => Number((await values('select count(*) as value from messages'))[0] ?? 0),
    ids: () => values('select id as value from messages order by id collate "C"'),
  })
})

async function survives(context: TestContext, { environment, countMessages, ids }: Place): Promise<void> {
  const url = await startProcess(context)
  const home = newHome(context)
  for (const share of KILLS) {
    const { child, ended } = startHoldfast(['import', url], { home, environment })
    while ((await countMessages(home)) < MESSAGES * share && child.exitCode === null) await sleep(50)
    child.kill('SIGKILL')
    await ended
    assert.ok((await countMessages(home)) < MESSAGES, 'it was killed before its end')
  }
  const resumed = await imported(['import', url, '--json'], { home, environment })
  const report = JSON.parse(resumed.stdout)
  assert.equal(resumed.code, 0, resumed.stderr)
  assert.ok(report.complete)
  const {
    source,
    imported: here,
    left_out,
    remapped,
  } = report.counts.find(({ kind }: { kind: string }) => kind === 'message')
  assert.deepEqual([source, here, left_out, remapped], [MESSAGES, MESSAGES - 100, 100, 0])
  const stored = await ids(home)
  assert.equal(new Set(stored).size, stored.length)
  assert.ok(stored.includes(messageId(49, 1, SIZE.messages - 1)))
  const again = await imported(['import', url, '--json'], { home, environment })
  assert.deepEqual(JSON.parse(again.stdout).counts, report.counts)
  assert.deepEqual(await ids(home), stored)
  const doctor = await holdfast(['doctor'], { home, environment })
  assert.match(doctor.stdout, /Every invariant holds/)
  const agents = await holdfast(['agents', 'list', '--json'], { home, environment })
  assert.ok(JSON.parse(agents.stdout).some(({ id }: { id: string }) => id === agentId(49)))
}

test('three thousand messages a second, and memory stays flat', { timeout: 900_000 }, async (context) => {
  const postgres = await startPostgres()
  if (!('skip' in postgres)) context.after(() => postgres.stop())
  const places = [{}, ...('skip' in postgres ? [] : [{ DATABASE_URL: postgres.url }])]
  for (const environment of places) {
    const url = await startProcess(context)
    const began = performance.now()
    const { code, peaks, cpuMs } = await measured(['import', url], { home: newHome(context), environment })
    const seconds = (performance.now() - began) / 1_000
    const name = 'DATABASE_URL' in environment ? 'PostgreSQL' : 'SQLite'
    const half = peaks[Math.floor(peaks.length / 2)]!
    const last = peaks.at(-1)!
    context.diagnostic(
      `${name}: ${Math.round(MESSAGES / seconds)} messages/s, ${Math.round(cpuMs / 1_000)} s of processor time, ${half} MB at half, ${last} MB at the end`,
    )
    assert.equal(code, 0)
    assert.ok(cpuMs < MESSAGES * MS_PER_MESSAGE, `${cpuMs} ms of processor time`)
    assert.ok(last < half * 1.5 + 50, `from ${half} to ${last} MB`)
  }
})

async function startProcess(context: TestContext): Promise<string> {
  const child = fork(
    new URL('../harness/old-server/old-server-process.ts', import.meta.url),
    [JSON.stringify({ size: SIZE })],
    { silent: true },
  )
  context.after(() => void child.kill())
  return firstLine(child)
}

const firstLine = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => child.stdout?.once('data', (text) => resolve(String(text).trim())))

const imported = (
  args: string[],
  location: { home: string; environment: Record<string, string> },
): Promise<CliResult> => holdfast(args, location)

type Measured = { code: number | null; peaks: number[]; cpuMs: number }

/** Processor time and memory of the process, as Linux counts them. */
async function measured(
  args: string[],
  location: { home: string; environment: Record<string, string> },
): Promise<Measured> {
  const { child, ended } = startHoldfast(args, location)
  const peaks: number[] = []
  let ticks = 0
  while (child.exitCode === null && child.signalCode === null) {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
      peaks.push(Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024))
      const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      ticks = Number(stat[11]) + Number(stat[12])
    } catch {
      break
    }
    await sleep(100)
  }
  const { code } = await ended
  return { code, peaks: peaks.filter((peak) => peak > 0), cpuMs: ticks * 10 }
}
