import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPostgres } from '../../harness/postgres.ts'
import { runGatewayKills } from './gateway-kills.ts'

const KILLS = Number(process.env.KILLS ?? 12)
const SEED = Number(process.env.SEED ?? 1)

test(`a server killed ${KILLS} times between updates and their answers answers every message once`, {
  timeout: 600_000,
}, async () => {
  const report = await runGatewayKills({ kills: KILLS, seed: SEED })
  assert.deepEqual(report.violations, [])
  assert.ok(report.messages >= KILLS)
})

for (const platform of ['slack', 'discord', 'matrix'] as const) {
  test(`${platform}: a server killed ${KILLS} times answers every message once, and leaves no message unknown or empty`, {
    timeout: 600_000,
  }, async () => {
    const report = await runGatewayKills({ kills: KILLS, seed: SEED, platform })
    assert.deepEqual(report.violations, [])
  })
}

test('two servers on one PostgreSQL with accounts on all platforms, killed and paused in turn, lose nothing and say nothing twice', {
  timeout: 1_200_000,
}, async (context) => {
  const postgres = await startPostgres()
  if ('skip' in postgres) return context.skip(postgres.skip)
  context.after(postgres.stop)
  const report = await runGatewayKills({
    kills: 8,
    seed: SEED,
    platform: 'all',
    servers: 2,
    pauses: true,
    databaseUrl: postgres.url,
  })
  assert.deepEqual(report.violations, [])
  assert.ok(report.pauses > 0)
})
