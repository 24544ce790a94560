import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caseCount } from '../../../harness/case-count.ts'
import { runGatewaySeed } from './gateway-seed.ts'

test('on days with faults of the platform, the store and the processes, every message is answered once', {
  timeout: 300_000,
}, async () => {
  for (let seed = 1; seed <= caseCount(16); seed++) {
    const { violations, messages } = await runGatewaySeed(seed)
    assert.deepEqual(violations, [], `seed ${seed}`)
    assert.ok(messages > 5)
  }
})

test('a seed of the gateway is the same day each time', async () => {
  assert.equal((await runGatewaySeed(7)).hash, (await runGatewaySeed(7)).hash)
})
