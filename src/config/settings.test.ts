import assert from 'node:assert/strict'
import { totalmem } from 'node:os'
import { test } from 'node:test'
import { Problem } from '../core/problem.ts'
import type { Environment } from '../ports/environment.ts'
import { readSettings } from './settings.ts'

const faultsOf = (environment: Environment): string[] => {
  try {
    readSettings(environment)
  } catch (error) {
    assert.ok(error instanceof Problem)
    assert.equal(error.kind, 'invalid')
    for (const fault of error.details.faults as string[]) assert.ok(error.message.includes(fault))
    return error.details.faults as string[]
  }
  return []
}

test('an empty environment gives the defaults', () => {
  const expected = { durability: 'strict', maxRunningTurns: 64, maxSteps: 50, maxDurationMs: 3_600_000 }
  for (const environment of [{}, { HOLDFAST_DURABILITY: '', DATABASE_URL: ' ', HOLDFAST_MAX_STEPS: '' }]) {
    const { home, approvalTtlMs, streamsKeptMs, cache, ...rest } = readSettings(environment)
    assert.match(home, /\.holdfast$/)
    assert.equal(approvalTtlMs, 7 * 86_400_000)
    assert.equal(streamsKeptMs, 7 * 86_400_000)
    assert.deepEqual({ ...cache, bytes: 0 }, { entries: 128, bytes: 0, idleMs: 3_600_000 })
    assert.ok(cache.bytes > 0 && cache.bytes < totalmem())
    assert.deepEqual(rest, expected)
  }
})

test('every setting can come from the environment', () => {
  const settings = readSettings({
    HOLDFAST_HOME: '/srv/holdfast',
    HOLDFAST_DURABILITY: 'relaxed',
    DATABASE_URL: 'postgres://ada@localhost/holdfast',
    HOLDFAST_MAX_RUNNING_TURNS: '8',
    HOLDFAST_MAX_STEPS: '5',
    HOLDFAST_MAX_RUN_MINUTES: '0.5',
    HOLDFAST_APPROVAL_DAYS: '2',
    HOLDFAST_STREAM_DAYS: '30',
    HOLDFAST_EMBEDDING: 'openai/text-embedding-3-small',
    HOLDFAST_CACHE_ENTRIES: '0',
    HOLDFAST_CACHE_MB: '64',
    HOLDFAST_CACHE_IDLE_MINUTES: '5',
  })
  assert.deepEqual(settings, {
    home: '/srv/holdfast',
    durability: 'relaxed',
    databaseUrl: 'postgres://ada@localhost/holdfast',
    embedding: 'openai/text-embedding-3-small',
    maxRunningTurns: 8,
    maxSteps: 5,
    maxDurationMs: 30_000,
    approvalTtlMs: 2 * 86_400_000,
    streamsKeptMs: 30 * 86_400_000,
    cache: { entries: 0, bytes: 64 * 1024 * 1024, idleMs: 300_000 },
  })
})

test('all mistakes are told at once, each with its name, its value and what is allowed', () => {
  const faults = faultsOf({
    HOLDFAST_DURABILITY: 'sometimes',
    HOLDFAST_MAX_RUNNING_TURNS: '0',
    HOLDFAST_MAX_STEPS: '2.5',
    HOLDFAST_MAX_RUN_MINUTES: 'long',
    HOLDFAST_APPROVAL_DAYS: '-1',
  })
  assert.deepEqual(faults, [
    'HOLDFAST_DURABILITY is "sometimes"; it must be "strict" or "relaxed".',
    'HOLDFAST_MAX_RUNNING_TURNS is "0"; it must be a whole number from 1 to 10000.',
    'HOLDFAST_MAX_STEPS is "2.5"; it must be a whole number from 1 to 10000.',
    'HOLDFAST_MAX_RUN_MINUTES is "long"; it must be a number above 0, up to 10080.',
    'HOLDFAST_APPROVAL_DAYS is "-1"; it must be a number above 0, up to 366.',
  ])
})

test('a database that is not PostgreSQL is refused without showing the password', () => {
  for (const url of ['mysql://ada:secret@localhost/x', 'secret']) {
    const [fault, ...others] = faultsOf({ DATABASE_URL: url })
    assert.match(fault!, /^DATABASE_URL must look like postgres:/)
    assert.ok(!fault!.includes('secret'))
    assert.deepEqual(others, [])
  }
})
