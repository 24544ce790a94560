import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AdmissionPolicy, decideAdmission, MAX_QUEUED_INPUTS, MAX_STEERED_INPUTS } from './admission.ts'

const POLICIES: AdmissionPolicy[] = ['reject', 'queue', 'interrupt', 'steer']
const free = { queued: 0 }
const busy = { running: 'run-1' as const, queued: 0, steered: 0 }

test('a free conversation admits every input', () => {
  for (const policy of POLICIES) assert.deepEqual(decideAdmission(policy, free), { type: 'open' })
})

test('a busy conversation follows the admission policy', () => {
  assert.deepEqual(decideAdmission('queue', busy), { type: 'open' })
  assert.deepEqual(decideAdmission('reject', busy), { type: 'refuse', refusal: 'busy', runId: 'run-1' })
  assert.deepEqual(decideAdmission('interrupt', busy), { type: 'interrupt-then-open', running: 'run-1' })
  assert.deepEqual(decideAdmission('steer', busy), { type: 'steer-into', running: 'run-1' })
})

test('under every policy, a conversation that waits for approval refuses input and names the run', () => {
  for (const policy of POLICIES)
    assert.deepEqual(decideAdmission(policy, { waiting: 'run-2', queued: 0 }), {
      type: 'refuse',
      refusal: 'pending-approval',
      runId: 'run-2',
    })
})

test('a conversation with queued inputs is busy for the policy reject', () => {
  assert.deepEqual(decideAdmission('reject', { queued: 1 }), { type: 'refuse', refusal: 'busy' })
  assert.deepEqual(decideAdmission('steer', { queued: 1 }), { type: 'open' })
})

test('a full queue refuses input, except input steered into the running turn', () => {
  const full = { ...busy, queued: MAX_QUEUED_INPUTS }
  for (const policy of ['queue', 'interrupt'] as const)
    assert.deepEqual(decideAdmission(policy, full), { type: 'refuse', refusal: 'queue-full', runId: 'run-1' })
  assert.deepEqual(decideAdmission('queue', { ...full, queued: MAX_QUEUED_INPUTS - 1 }), { type: 'open' })
  assert.deepEqual(decideAdmission('steer', full), { type: 'steer-into', running: 'run-1' })
})

test('a turn takes a bounded number of steered inputs between two answers', () => {
  const steered = (count: number) => decideAdmission('steer', { ...busy, steered: count })
  assert.deepEqual(steered(MAX_STEERED_INPUTS - 1), { type: 'steer-into', running: 'run-1' })
  assert.deepEqual(steered(MAX_STEERED_INPUTS), { type: 'refuse', refusal: 'queue-full', runId: 'run-1' })
})

test('a run that reads no input is not steered: the input goes next', () => {
  assert.deepEqual(decideAdmission('steer', { running: 'run-1', queued: 0 }), { type: 'open' })
})
