import assert from 'node:assert/strict'
import { test } from 'node:test'
import { history, MODES, sendIn, type WireValue, waitUntilSettled } from '../send-modes.ts'
import type { BehaviorFixture } from './fixture-behaviors.ts'
import { hello } from './sample-messages.ts'

/**
 * Providers that fail, each in its own way. They are separate providers, so that their cooldowns affect no other test.
 */
const KINDS = [
  { model: 'slow/model', answer: { line: 'silent' }, type: 'llm_timeout', status: 504, isPatient: false },
  { model: 'limited/model', answer: { error: 'rate-limit' }, type: 'llm_rate_limit', status: 429, isPatient: true },
  {
    model: 'locked/model',
    answer: { error: 'invalid-key' },
    type: 'llm_authentication',
    status: 401,
    isPatient: false,
  },
  { model: 'broken/model', answer: { error: 'server-error' }, type: 'llm_error', status: 502, isPatient: true },
] as const

const IN_BACKGROUND: readonly string[] = ['async', 'background']

/** What a failed run reports, in every mode. */
export function failures({ server, newAgent }: BehaviorFixture): void {
  for (const { model, answer, type, status, isPatient } of KINDS) {
    test(`a failed run has its error in its metadata as ${type}, in every mode`, async () => {
      const { client, simulator } = server()
      simulator.script({ when: { path: `/${model.split('/')[0]}/` }, answer })
      // A run that no client waits for asks again for ten minutes (test/recovery/patience.test.ts).
      const modes = MODES.filter((mode) => !isPatient || !IN_BACKGROUND.includes(mode))
      const outcomes = modes.map(async (mode) => {
        const agentId = await newAgent({ model })
        const fault = await sendIn(mode, client, { agentId, body: hello() }).catch((error) => error)
        if (mode === 'blocking') assert.equal(fault.status, status)
        else if (mode !== 'async') assert.equal(fault.error?.error_type, type, mode)
        const [run] = (await client.runs.list({ agent_id: agentId })).getPaginatedItems()
        const { status: ended, stop_reason, metadata } = await waitUntilSettled(client, run!.id)
        assert.deepEqual([ended, stop_reason], ['failed', 'llm_api_error'], mode)
        const error = (metadata as WireValue).error
        assert.deepEqual([error.error_type, error.run_id], [type, run!.id], mode)
        assert.equal(typeof error.message, 'string')
        assert.deepEqual(await history(client, agentId), [], mode)
      })
      await Promise.all(outcomes)
    })
  }
}
