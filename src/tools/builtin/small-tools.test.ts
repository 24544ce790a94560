import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../ports/clock.ts'
import type { Tool, ToolContext } from '../../ports/tool.ts'
import { demoTools } from '../demo/all.ts'
import { toolRegistry } from '../registry.ts'
import { builtinTools } from './all.ts'

const clock: Clock = {
  now: () => Date.UTC(2026, 10, 15, 4, 30),
  monotonic: () => 0,
  sleep: async () => {},
  every: () => () => {},
  soon: (task) => task(),
}
const fractions = [0, 0.999, 0.5]
const randomness = { uuid: () => '', fraction: () => fractions.shift()! }
const registry = toolRegistry([
  ...builtinTools({ clock, randomness, home: '/nowhere' }),
  ...demoTools({ clock, randomness, home: '/nowhere' }),
])
const find = (name: string): Tool => registry.find(name)!

const contextWith = (signal: AbortSignal, progress: (text: string) => void = () => {}) =>
  ({ signal, progress }) as ToolContext
const { signal } = new AbortController()

test('the time is given in the requested time zone', async () => {
  const { output } = await find('current_time').run({ timeZone: 'Asia/Tokyo' }, contextWith(signal))
  assert.match(output, /^Sunday,? 15 November 2026 at 13:30:00 \(Asia\/Tokyo\)$/)
})

test('the time zone is optional, and an unknown one gives an error answer', async () => {
  assert.equal((await find('current_time').run({}, contextWith(signal))).status, 'success')
  const { status, output } = await find('current_time').run({ timeZone: 'Mars/Olympus' }, contextWith(signal))
  assert.equal(status, 'error')
  assert.match(output, /no time zone "Mars\/Olympus"/)
})

test('a count reports every number as progress', async () => {
  const heard: string[] = []
  const answer = await find('slow_count').run(
    { to: 3 },
    contextWith(signal, (text) => heard.push(text)),
  )
  assert.deepEqual(heard, ['1 of 3', '2 of 3', '3 of 3'])
  assert.deepEqual(answer, { status: 'success', output: 'Counted from 1 to 3.' })
})

test('a cancelled count stops before its next number', async () => {
  const controller = new AbortController()
  const heard: string[] = []
  const answer = await find('slow_count').run(
    { to: 100 },
    contextWith(controller.signal, (text) => {
      heard.push(text)
      if (heard.length === 2) controller.abort()
    }),
  )
  assert.deepEqual(heard, ['1 of 100', '2 of 100'])
  assert.equal(answer.status, 'error')
})

test('a die shows each of its sides and no other number', async () => {
  const rolls = []
  for (const input of [{}, {}, { sides: 20 }])
    rolls.push((await find('roll_dice').run(input, contextWith(signal))).output)
  assert.deepEqual(rolls, ['Rolled 1 (1 to 6)', 'Rolled 6 (1 to 6)', 'Rolled 11 (1 to 20)'])
})

test('every builtin tool declares its effects', () => {
  const effects = registry.names().map((name) => [name, find(name).effects, find(name).parallel])
  assert.deepEqual(effects, [
    ['current_time', 'none', true],
    ['write_note', 'idempotent', false],
    ['read_notes', 'none', true],
    ['erase_notes', 'idempotent', false],
    ['slow_count', 'none', true],
    ['roll_dice', 'none', true],
    ['send_postcard', 'verifiable', false],
  ])
})
