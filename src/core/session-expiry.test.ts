import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causeOf, expiredBefore } from './session-expiry.ts'
import { isTimeZone } from './zoned-time.ts'

const at = (text: string) => Date.parse(text)
const last = (dailyAt: string, timezone: string, now: string) =>
  new Date(expiredBefore({ dailyAt, timezone }, at(now))!).toISOString()

test('without a policy no session expires', () => {
  assert.equal(expiredBefore({}, at('2026-03-01T10:00:00Z')), undefined)
})

test('an idle session expires after its minutes, to the millisecond', () => {
  assert.equal(expiredBefore({ idleMinutes: 30 }, at('2026-03-01T10:00:00Z')), at('2026-03-01T09:30:00Z'))
})

test('a daily expiry is the last time local clocks showed it', () => {
  assert.equal(last('04:00', 'UTC', '2026-03-01T10:00:00Z'), '2026-03-01T04:00:00.000Z')
  assert.equal(last('04:00', 'UTC', '2026-03-01T03:59:59Z'), '2026-02-28T04:00:00.000Z')
  assert.equal(last('04:00', 'UTC', '2026-03-01T04:00:00Z'), '2026-03-01T04:00:00.000Z')
  assert.equal(last('04:00', 'Pacific/Kiritimati', '2026-03-01T10:00:00Z'), '2026-02-28T14:00:00.000Z')
  assert.equal(last('04:00', 'America/Los_Angeles', '2026-01-10T11:00:00Z'), '2026-01-09T12:00:00.000Z')
  assert.equal(last('00:00', 'Asia/Kolkata', '2026-03-01T10:00:00Z'), '2026-02-28T18:30:00.000Z')
})

test('a local time that clocks skip happens as long after the change as it would have', () => {
  // Berlin, 29 March 2026: after 01:59 comes 03:00 (01:00 UTC).
  assert.equal(last('02:30', 'Europe/Berlin', '2026-03-29T10:00:00Z'), '2026-03-29T01:30:00.000Z')
  assert.equal(last('02:30', 'Europe/Berlin', '2026-03-29T01:29:59Z'), '2026-03-28T01:30:00.000Z')
  assert.equal(last('02:30', 'Europe/Berlin', '2026-03-30T10:00:00Z'), '2026-03-30T00:30:00.000Z')
})

test('a local time that clocks show twice happens once, the first time', () => {
  // Berlin, 25 October 2026: after 02:59 (summer) comes 02:00 (winter), at 01:00 UTC.
  assert.equal(last('02:30', 'Europe/Berlin', '2026-10-25T00:45:00Z'), '2026-10-25T00:30:00.000Z')
  assert.equal(last('02:30', 'Europe/Berlin', '2026-10-25T01:45:00Z'), '2026-10-25T00:30:00.000Z')
  assert.equal(last('02:30', 'Europe/Berlin', '2026-10-26T10:00:00Z'), '2026-10-26T01:30:00.000Z')
})

test('over two years each local time has one moment a day, and none is in the future', () => {
  for (const timezone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Tehran', 'UTC']) {
    const moments = new Set<number>()
    const from = at('2025-01-01T00:30:00Z')
    for (let hour = 0; hour < 2 * 365 * 24; hour += 11) {
      const now = from + hour * 3_600_000
      const moment = expiredBefore({ dailyAt: '02:15', timezone }, now)!
      assert.ok(moment <= now && now - moment < 26 * 3_600_000, `${timezone} ${new Date(now).toISOString()}`)
      moments.add(moment)
    }
    assert.ok(Math.abs(moments.size - 2 * 365) <= 1, `${timezone}: ${moments.size} expiries in 730 days`)
  }
})

test('with both rules the one that applies first ends the session, and the cause says which', () => {
  const both = { idleMinutes: 600, dailyAt: '04:00', timezone: 'UTC' }
  const now = at('2026-03-01T05:00:00Z')
  assert.equal(expiredBefore(both, now), at('2026-03-01T04:00:00Z'))
  assert.equal(causeOf(both, { lastActivity: at('2026-03-01T03:00:00Z'), now }), 'daily')
  assert.equal(causeOf(both, { lastActivity: at('2026-02-28T03:00:00Z'), now }), 'idle')
})

test('only names of time zones are accepted', () => {
  for (const name of ['UTC', 'Europe/Berlin']) assert.ok(isTimeZone(name), name)
  for (const name of ['Berlin', 'Mars/Olympus', '', 'x'.repeat(300)]) assert.ok(!isTimeZone(name), name)
})
