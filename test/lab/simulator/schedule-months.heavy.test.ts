import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../../src/core/duration.ts'
import { runScheduleDays } from './schedule-days.ts'

test('10,000 schedules over nine months on two servers that die, sleep and have wrong clocks: every instant is settled once', {
  timeout: 1_800_000,
}, async (context) => {
  const began = process.cpuUsage()
  const months = { schedules: 10_000, steps: 80, longestStepMs: 18 * DAY_MS, plan: 'sparse' } as const
  const { violations, instants, fired, days } = await runScheduleDays(7, months)
  const { user, system } = process.cpuUsage(began)
  const seconds = Math.round((user + system) / 1_000_000)
  context.diagnostic(`${days} days, ${instants} instants, ${fired} fired, ${seconds} s of processor time`)
  assert.deepEqual(violations, [])
  assert.ok(days > 250 && instants > 500_000 && fired > 100, `${days} days, ${instants} instants, ${fired} fired`)
})

test('500 schedules over a year in which most instants fire, up to a hundred at one instant: every instant is settled once', {
  timeout: 1_800_000,
}, async (context) => {
  const year = { schedules: 500, steps: 2_750, longestStepMs: DAY_MS / 2, plan: 'rare', conversations: 60 } as const
  const { violations, instants, fired, days } = await runScheduleDays(7, year)
  context.diagnostic(`${days} days, ${instants} instants, ${fired} fired`)
  assert.deepEqual(violations, [])
  assert.ok(days > 330 && 2 * fired > instants, `${days} days, ${instants} instants, ${fired} fired`)
})
