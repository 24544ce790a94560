import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { caseCount } from '../../test/harness/case-count.ts'
import { type Cron, nextCronInstant, parseCron } from './cron.ts'
import { MINUTE_MS } from './duration.ts'
import { momentsOf, wallClock } from './zoned-time.ts'

const cronOf = (text: string): Cron => {
  const parsed = parseCron(text)
  assert.ok(!('fault' in parsed), JSON.stringify(parsed))
  return parsed
}

function nextOnes(text: string, timezone: string, from: string, count = 4): string[] {
  const found: string[] = []
  for (let at = Date.parse(from); found.length < count; ) {
    at = nextCronInstant(cronOf(text), timezone, at)!
    found.push(new Date(at).toISOString().slice(0, 16))
  }
  return found
}

const BERLIN = 'Europe/Berlin'

test('a time that clocks skip fires once, as long after the change as it would have been', () => {
  assert.deepEqual(nextOnes('30 2 * * *', BERLIN, '2026-03-28T00:00Z', 3), [
    '2026-03-28T01:30',
    '2026-03-29T01:30',
    '2026-03-30T00:30',
  ])
  assert.deepEqual(nextOnes('*/20 2 * * *', BERLIN, '2026-03-28T02:00Z', 4), [
    '2026-03-29T01:00',
    '2026-03-29T01:20',
    '2026-03-29T01:40',
    '2026-03-30T00:00',
  ])
  // 02:15 is moved to 03:15, which fires anyway: one instant.
  assert.deepEqual(nextOnes('15 2,3 * * *', BERLIN, '2026-03-28T12:00Z', 3), [
    '2026-03-29T01:15',
    '2026-03-30T00:15',
    '2026-03-30T01:15',
  ])
  assert.deepEqual(nextOnes('10,30 2-3 * * *', BERLIN, '2026-03-29T01:05Z', 2), [
    '2026-03-29T01:10',
    '2026-03-29T01:30',
  ])
})

test('an hour that clocks show twice fires once for named hours, and twice for an expression of every hour', () => {
  assert.deepEqual(nextOnes('30 2 * * *', BERLIN, '2026-10-24T12:00Z', 2), ['2026-10-25T00:30', '2026-10-26T01:30'])
  assert.deepEqual(nextOnes('*/30 * * * *', BERLIN, '2026-10-24T23:30Z', 6), [
    '2026-10-25T00:00',
    '2026-10-25T00:30',
    '2026-10-25T01:00',
    '2026-10-25T01:30',
    '2026-10-25T02:00',
    '2026-10-25T02:30',
  ])
})

test('days of the month and of the week are alternatives if both are named; names, Sunday as 7 and aliases work', () => {
  assert.deepEqual(nextOnes('0 0 13 * fri', 'UTC', '2026-03-01T00:00Z', 4), [
    '2026-03-06T00:00',
    '2026-03-13T00:00',
    '2026-03-20T00:00',
    '2026-03-27T00:00',
  ])
  assert.deepEqual(nextOnes('0 12 * jan 7', 'UTC', '2026-01-01T00:00Z', 2), ['2026-01-04T12:00', '2026-01-11T12:00'])
  assert.deepEqual(nextOnes('@monthly', 'UTC', '2026-01-15T00:00Z', 2), ['2026-02-01T00:00', '2026-03-01T00:00'])
  assert.deepEqual(nextOnes('0 0 29 2 *', 'UTC', '2096-03-01T00:00Z', 1), ['2104-02-29T00:00'])
})

test('what is no expression is refused with the field, and one that never fires has no instant', () => {
  for (const text of [
    '',
    '* * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '5-1 * * * *',
    '*/0 * * * *',
    '* * * * mo',
    '1,,2 * * * *',
    '* * * * * *',
    '1-2-3 * * * *',
    '*/5/2 * * * *',
  ])
    assert.ok('fault' in parseCron(text), text)
  assert.match(JSON.stringify(parseCron('* 24 * * *')), /\\"24\\" is no hour from 0 to 23/)
  assert.equal(nextCronInstant(cronOf('0 0 30 2 *'), 'UTC', 0), undefined)
})

const ZONES = [
  'UTC',
  BERLIN,
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'America/Santiago',
  'Africa/Casablanca',
]

/** Around the changes of 2026 in those zones, and a quiet day. */
const TIMES = [
  '2026-03-29',
  '2026-10-25',
  '2026-03-08',
  '2026-11-01',
  '2026-04-05',
  '2026-10-04',
  '2026-04-05',
  '2026-09-06',
  '2026-02-15',
  '2026-03-22',
  '2026-06-10',
]

const field = (from: number, to: number) =>
  fc.oneof(
    fc.constant('*'),
    fc.integer({ min: from, max: to }).map(String),
    fc.integer({ min: 2, max: 20 }).map((step) => `*/${step}`),
    fc.uniqueArray(fc.integer({ min: from, max: to }), { minLength: 1, maxLength: 4 }).map((all) => all.join(',')),
  )

test('the instants are those that a walk through every minute of the days around a change of clocks finds', () => {
  fc.assert(
    fc.property(
      field(0, 59),
      field(0, 5),
      fc.constantFrom(...ZONES),
      fc.constantFrom(...TIMES),
      fc.nat(1_439),
      (minute, hour, zone, day, offset) => {
        const text = `${minute} ${hour} * * *`
        const cron = cronOf(text)
        const start = Date.parse(`${day}T00:00Z`) - 12 * 60 * MINUTE_MS
        const after = start + offset * MINUTE_MS
        const end = start + 60 * 60 * MINUTE_MS
        const expected = new Set<number>()
        for (let wall = start - 26 * 60 * MINUTE_MS; wall < end + 26 * 60 * MINUTE_MS; wall += MINUTE_MS) {
          const shown = new Date(wall)
          if (!cron.minutes.includes(shown.getUTCMinutes()) || !cron.hours.includes(shown.getUTCHours())) continue
          const moments = momentsOf(wall, zone)
          for (const moment of cron.isEveryHour ? moments : [moments[0]])
            if (moment > after && moment <= end) expected.add(moment)
        }
        const found: number[] = []
        for (let at = after; ; ) {
          const next = nextCronInstant(cron, zone, at)
          if (next === undefined || next > end) break
          assert.ok(next > at)
          found.push(next)
          at = next
        }
        assert.deepEqual(
          found,
          [...expected].sort((a, b) => a - b),
          `${text} ${zone} after ${new Date(after).toISOString()}`,
        )
      },
    ),
    { numRuns: caseCount(120) },
  )
})

test('every instant of an expression of every hour is shown by clocks of the zone, except for what they skip', () => {
  const cron = cronOf('*/15 * * * *')
  for (let at = Date.parse('2026-10-24T20:00Z'); at < Date.parse('2026-10-25T06:00Z'); ) {
    const next = nextCronInstant(cron, BERLIN, at)!
    assert.equal(next - at <= 15 * MINUTE_MS, true)
    assert.equal(new Date(wallClock(next, BERLIN)).getUTCMinutes() % 15, 0)
    at = next
  }
})
