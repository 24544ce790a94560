import assert from 'node:assert/strict'
import { test } from 'node:test'
import { caseCount } from '../../../harness/case-count.ts'
import { runGatewaySeed } from './gateway-seed.ts'

const SEEDS = { telegram: 16, slack: 12, discord: 12 } as const

for (const platform of ['telegram', 'slack', 'discord'] as const) {
  test(`on days with faults of ${platform}, the store and the processes, every message is answered once`, {
    timeout: 300_000,
  }, async () => {
    for (let seed = 1; seed <= caseCount(SEEDS[platform]); seed++) {
      const { violations, messages } = await runGatewaySeed(seed, platform)
      assert.deepEqual(violations, [], `seed ${seed}`)
      assert.ok(messages > 5)
    }
  })
}

test('a seed of the gateway is the same day each time', async () => {
  for (const platform of ['telegram', 'slack', 'discord'] as const)
    assert.equal((await runGatewaySeed(7, platform)).hash, (await runGatewaySeed(7, platform)).hash)
})
