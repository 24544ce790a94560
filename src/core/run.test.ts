import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOver, isSettled, phaseOf, type RunStatus, STATUS_OF_STOP, type StopReason, TRANSITIONS } from './run.ts'

const state = (status: RunStatus, waiting = false) => ({ status, waiting })

test('a run that waits for approval is completed on the wire but not settled', () => {
  assert.equal(STATUS_OF_STOP.requires_approval, 'completed')
  assert.equal(phaseOf(state('completed', true)), 'waiting')
  assert.equal(isSettled(state('completed', true)), false)
  assert.equal(isOver(state('completed', true)), true)
})

test('completed, failed and cancelled are final; created and running are not', () => {
  for (const status of ['completed', 'failed', 'cancelled'] as const) assert.ok(isSettled(state(status)))
  for (const status of ['created', 'running'] as const) assert.ok(!isSettled(state(status)) && !isOver(state(status)))
})

test('a run cannot complete or fail before it runs', () => {
  assert.deepEqual(TRANSITIONS.created, ['running', 'cancelled'])
})

test('a waiting run is answered or cancelled; it neither fails nor runs', () => {
  assert.deepEqual(TRANSITIONS.waiting, ['completed', 'cancelled'])
})

test('only successful stop reasons complete a run, and only a cancel cancels it', () => {
  const reasons = Object.keys(STATUS_OF_STOP) as StopReason[]
  const ending = (status: RunStatus) => reasons.filter((reason) => STATUS_OF_STOP[reason] === status)
  assert.deepEqual(ending('completed'), ['end_turn', 'max_steps', 'tool_rule', 'requires_approval'])
  assert.deepEqual(ending('cancelled'), ['cancelled'])
})
