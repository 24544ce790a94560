import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startPostgres, startPostgresServer, type TestPostgres } from '../../harness/postgres.ts'
import { runKills } from './harness.ts'
import { TAKEOVER_MS } from './postgres-kills.ts'
import {
  type Outcome,
  pauseLongerThanTheLease,
  restartPostgres,
  type Scenario,
  spoilTheLine,
} from './postgres-scenarios.ts'

const KILLS = Number(process.env.KILLS ?? 10)
const SEED = Number(process.env.SEED ?? 1)

const probe = await startPostgres()
const skip = 'skip' in probe ? probe.skip : false
if (!('skip' in probe)) await probe.stop()

// Concurrent: most of the time the tests wait for a lease to expire.
suite('two processes on one PostgreSQL', { skip, concurrency: true, timeout: 600_000 }, () => {
  test(`${KILLS} kills lose and repeat nothing, leave nothing stuck, and the other process takes over in time`, async () => {
    const report = await runKills({ kills: KILLS, seed: SEED, database: 'postgres' })
    assert.deepEqual(report.violations, [])
    assert.ok(report.accepted > 0, 'the load was there')
    assert.ok(report.recoveries.length > 0, 'runs were interrupted')
    assert.ok(Math.max(...report.recoveries) < TAKEOVER_MS, `slowest takeover: ${Math.max(...report.recoveries)} ms`)
  })

  test('a process paused longer than its lease writes no row of a run it lost', () => passes(pauseLongerThanTheLease))

  test('a late, slow, cut and half-open connection loses nothing, repeats nothing and leaves nothing stuck', () =>
    passes(spoilTheLine))
})

test('a crash of PostgreSQL under load loses no run and gives no chunk number two contents', {
  skip,
}, async (context) => {
  const server = await startPostgresServer()
  if ('skip' in server) return context.skip(server.skip)
  await passes((scenario) => restartPostgres(scenario, server), server)
})

async function passes(scenario: (scenario: Scenario) => Promise<Outcome>, given?: TestPostgres): Promise<void> {
  const database = given ?? (await startPostgres())
  assert.ok(!('skip' in database))
  try {
    const { violations, accepted, takeoverMs = 0 } = await scenario({ databaseUrl: database.url, seed: SEED })
    assert.deepEqual(violations, [])
    assert.ok(accepted > 0, 'the load was there')
    assert.ok(takeoverMs < TAKEOVER_MS, `taken over after ${takeoverMs} ms`)
  } finally {
    await database.stop()
  }
}
