import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunStatus } from '../core/run.ts'
import { shouldEnd } from './end-cancelled.ts'

const DAY = 24 * 3_600_000

type Case = { what: string; status?: RunStatus; waiting?: boolean; background: boolean; age?: number; ends: boolean }

const CASES: Case[] = [
  { what: 'a background process of a cancelled run', status: 'cancelled', background: true, ends: true },
  { what: 'a foreground process of a cancelled run', status: 'cancelled', background: false, ends: true },
  { what: 'a background process of a completed run', status: 'completed', background: true, ends: false },
  { what: 'a background process of a failed run', status: 'failed', background: true, ends: false },
  { what: 'a foreground process of a failed run', status: 'failed', background: false, ends: true },
  { what: 'a foreground process of a running run', status: 'running', background: false, ends: false },
  {
    what: 'a process of a run that waits for approval',
    status: 'completed',
    waiting: true,
    background: false,
    ends: false,
  },
  { what: 'a background process without a run', background: true, age: 9 * DAY, ends: false },
  { what: 'a young foreground process without a run', background: false, ends: false },
  { what: 'an old foreground process without a run', background: false, age: 2 * DAY, ends: true },
]

for (const { what, status, waiting = false, background, age = 0, ends } of CASES)
  test(`${what} ${ends ? 'is ended' : 'keeps running'}`, () => {
    const run = status && { status, waiting }
    assert.equal(shouldEnd({ background, startedAt: 0 }, { run, now: age }), ends)
  })
