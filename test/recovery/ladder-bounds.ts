import assert from 'node:assert/strict'
import type { CredentialId } from '../../src/core/credential.ts'
import { defined } from '../../src/core/defined.ts'
import type { Purpose, TurnEvent } from '../../src/core/event.ts'
import { BOUNDED_BY_PROGRESS, type Remedy, usesAllowed, WAIT_BUDGET_MS } from '../../src/core/recovery.ts'

const OF_A_KEY: readonly Remedy[] = ['retry-credential', 'refresh-credential', 'refresh-entitlement']

type Spent = { remedy: Remedy; credentialId?: CredentialId }
type Tally = { target: number; spent: Spent[]; rotations: number; window: number }

/**
 * Asserts on the raw events of any turn: no remedy is used more often than the ladder of the failure lists it, the
 * target never moves back in the chain, and no step waits longer than its wait budget.
 */
export function assertWithinLadder(events: readonly TurnEvent[], bounds: { keys: number; patienceMs?: number }): void {
  const { keys, patienceMs = WAIT_BUDGET_MS } = bounds
  const fresh = (target: number): Tally => ({ target, spent: [], rotations: 0, window: Number.POSITIVE_INFINITY })
  let tallies: Record<Purpose, Tally> = { answer: fresh(0), summary: fresh(0) }
  let waitedMs = 0
  for (const event of events) {
    if (event.type === 'answer-received') {
      assert.equal(event.target, tallies.answer.target, 'the current target has answered')
      tallies = { answer: fresh(event.target), summary: fresh(0) }
      waitedMs = 0
    }
    if (event.type === 'context-compacted') {
      tallies.summary = fresh(0)
      // A shorter context may overflow once more, so each compaction may be followed by another one.
      tallies.answer.spent = tallies.answer.spent.filter(({ remedy }) => remedy !== 'compact')
    }
    if (event.type !== 'attempt-failed' || event.remedy === 'give-up') continue
    const { purpose = 'answer', remedy, failure, credentialId, waitMs = 0 } = event
    const tally = tallies[purpose]
    assert.equal(event.target, tally.target)
    waitedMs += waitMs
    assert.ok(waitedMs <= patienceMs, `${waitedMs} ms of waiting in one step`)
    if (remedy === 'compact') tallies.summary = fresh(0)
    if (remedy === 'next-target') {
      assert.ok(event.nextTarget! > tally.target, 'the target only moves forward in the chain')
      tallies[purpose] = fresh(event.nextTarget!)
      continue
    }
    if (remedy === 'next-credential') {
      assert.ok(++tally.rotations < keys, 'each credential of a pool is used once')
      continue
    }
    if (BOUNDED_BY_PROGRESS.has(remedy)) {
      assert.ok(event.window! < tally.window, `${remedy} went from ${tally.window} to ${event.window}`)
      tally.window = event.window!
      continue
    }
    tally.spent.push({ remedy, ...defined({ credentialId: credentialId || undefined }) })
    const isSame = (one: Spent) =>
      one.remedy === remedy && (!OF_A_KEY.includes(remedy) || one.credentialId === credentialId)
    const used = tally.spent.filter(isSame).length
    const allowed = usesAllowed(failure.kind, remedy)
    assert.ok(used <= allowed, `${remedy} was used ${used} times for ${failure.kind}, which has it ${allowed} times`)
  }
}
