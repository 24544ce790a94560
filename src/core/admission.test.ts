import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AdmissionPolicy, admit, QUEUE_BOUND } from './admission.ts'

const POLICIES: AdmissionPolicy[] = ['reject', 'enqueue', 'interrupt', 'steer']
const free = { queued: 0 }
const busy = { running: 'run-1' as const, queued: 0 }

test('a free conversation takes every input', () => {
  for (const policy of POLICIES) assert.deepEqual(admit(policy, free), { type: 'open' })
})

test('a busy one does what the policy says', () => {
  assert.deepEqual(admit('enqueue', busy), { type: 'open' })
  assert.deepEqual(admit('reject', busy), { type: 'refuse', refusal: 'busy', runId: 'run-1' })
  assert.deepEqual(admit('interrupt', busy), { type: 'interrupt-then-open', running: 'run-1' })
  assert.deepEqual(admit('steer', busy), { type: 'steer-into', running: 'run-1' })
})

test('whatever the policy, a conversation that waits for a person takes nothing and names the run', () => {
  for (const policy of POLICIES)
    assert.deepEqual(admit(policy, { waiting: 'run-2', queued: 0 }), {
      ...{ type: 'refuse', refusal: 'pending-approval', runId: 'run-2' },
    })
})

test('a queue makes a conversation busy for those who will not wait', () => {
  assert.deepEqual(admit('reject', { queued: 1 }), { type: 'refuse', refusal: 'busy' })
  assert.deepEqual(admit('steer', { queued: 1 }), { type: 'open' })
})

test('a full queue takes nothing more, except what is steered into the running turn', () => {
  const full = { ...busy, queued: QUEUE_BOUND }
  for (const policy of ['enqueue', 'interrupt'] as const)
    assert.deepEqual(admit(policy, full), { type: 'refuse', refusal: 'queue-full', runId: 'run-1' })
  assert.deepEqual(admit('enqueue', { ...full, queued: QUEUE_BOUND - 1 }), { type: 'open' })
  assert.deepEqual(admit('steer', full), { type: 'steer-into', running: 'run-1' })
})
