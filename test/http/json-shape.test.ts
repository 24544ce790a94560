import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkJsonShape } from '../../src/http/json-shape.ts'
import { caseCount } from '../harness/case-count.ts'
import { seededFraction } from '../harness/seeded.ts'

const TEXTS = ['', '[', '}', '"', '\\', '\\"', 'a,b', '{"', '\u2028', 'é\\\\']

test('the depth and the values of any JSON are counted as a parser would count them', () => {
  const fraction = seededFraction(11)
  const below = (most: number) => Math.floor(fraction() * most)
  const text = () => TEXTS[below(TEXTS.length)]!
  const made = (depth: number): unknown => {
    if (depth === 0 || below(4) === 0) return [text(), 1, null, true][below(4)]
    const items = Array.from({ length: below(4) }, () => made(depth - 1))
    return below(2) === 0 ? items : Object.fromEntries(items.map((item, index) => [`${index}${text()}`, item]))
  }
  for (let count = 0; count < caseCount(2_000); count++) {
    const value = made(6)
    const body = Buffer.from(JSON.stringify(value, undefined, below(3)))
    const { depth, values } = measured(value)
    checkJsonShape(body, { depth, values })
    if (depth > 0) assert.throws(() => checkJsonShape(body, { depth: depth - 1, values }), /nested deeper/)
    if (values > 0) assert.throws(() => checkJsonShape(body, { depth, values: values - 1 }), /more than \d+ values/)
  }
})

/** Containers and the commas in them. */
function measured(value: unknown): { depth: number; values: number } {
  if (value === null || typeof value !== 'object') return { depth: 0, values: 0 }
  const items = Object.values(value).map(measured)
  return {
    depth: 1 + Math.max(0, ...items.map(({ depth }) => depth)),
    values: 1 + Math.max(0, items.length - 1) + items.reduce((sum, { values }) => sum + values, 0),
  }
}

test('counting takes time in proportion to the bytes, for any bytes', () => {
  for (const piece of ['[', '"', '\\', '"\\', '\\"', '{"":', ',', '"a",']) {
    const timeOf = (length: number): number => {
      const body = Buffer.alloc(length, piece)
      const before = process.cpuUsage()
      try {
        checkJsonShape(body, { depth: 1e9, values: 1e9 })
      } catch {
        // Only the time counts.
      }
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    timeOf(500_000)
    const [once, twice] = [timeOf(1_000_000), timeOf(2_000_000)]
    assert.ok(twice < 4 * Math.max(once, 20_000), `${piece}: ${once} and ${twice} µs`)
  }
})
