import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkAcrossRuns } from './all.ts'
import { newRunLinks } from './links.ts'
import type { RunSummary } from './record.ts'

const settled = (number: number, more: Partial<RunSummary> = {}): RunSummary => ({
  id: `run-${number}`,
  conversationId: 'conv-1',
  phase: 'settled',
  inputs: [],
  ...more,
})
const overflowed = { overflowed: true as const }

function faultsOf(...runs: RunSummary[]): string[] {
  const links = newRunLinks()
  for (const run of runs) links.add(run)
  const details = checkAcrossRuns({ runs: links.unresolved() }).map(({ detail }) => detail)
  assert.deepEqual(
    details,
    checkAcrossRuns({ runs }).map(({ detail }) => detail),
  )
  return details
}

test('two turns of a conversation in a row that fail for an overflow are a violation, and one is not', () => {
  assert.deepEqual(faultsOf(settled(1, overflowed), settled(2), settled(3, overflowed)), [])
  assert.deepEqual(faultsOf(settled(1, overflowed), settled(2, { ...overflowed, conversationId: 'conv-2' })), [])
  assert.equal(faultsOf(settled(1, overflowed), settled(2, overflowed)).length, 1)
  assert.equal(
    faultsOf(
      settled(1, overflowed),
      settled(2, overflowed),
      settled(3),
      settled(4),
      settled(5, overflowed),
      settled(6, overflowed),
    ).length,
    2,
  )
})
