import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalTraceparent, parseTraceparent, runTraceContext } from './traceparent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

test('a traceparent of a known or a later version is taken, and kept in the known one', () => {
  assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-01`), { traceId: TRACE, spanId: SPAN, isSampled: true })
  assert.equal(normalTraceparent(`cc-${TRACE}-${SPAN}-03-more-of-it`), `00-${TRACE}-${SPAN}-01`)
  assert.equal(normalTraceparent(`00-${TRACE}-${SPAN}-00`), `00-${TRACE}-${SPAN}-00`)
})

test('a wrong traceparent is ignored', () => {
  const wrong = [
    undefined,
    '',
    ['00'],
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01more`,
  ]
  for (const header of wrong) assert.equal(normalTraceparent(header), undefined, String(header))
})

test('the ids of a run without a traceparent follow from its id', () => {
  const id = 'run-12345678-1234-4234-8234-123456789abc'
  const digest = () => 'd'.repeat(64)
  assert.deepEqual(runTraceContext({ id }, digest), {
    traceId: '12345678123442348234123456789abc',
    spanId: 'd'.repeat(16),
    isSampled: true,
  })
})
