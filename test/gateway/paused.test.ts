import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { DEFAULT_ORGANIZATION, type WorkerId } from '../../src/core/id.ts'
import type { Store } from '../../src/ports/store.ts'
import { listOutbound } from '../../src/service/gateway/updates.ts'
import { openGatewayFixture, until } from './fixture-gateway.ts'

const PAUSE_MS = 60_000
const OTHER: WorkerId = 'worker-00000000-0000-4000-8000-000000000002'

/** A pause between the commit before a call and the call, in which another process may take the account. */
function pausingStore(meanwhile: (store: Store) => Promise<void>) {
  let pausedMs = 0
  let isPaused = false
  const clock = { ...realClock, monotonic: () => realClock.monotonic() + pausedMs }
  const wrapStore = (store: Store): Store => ({
    ...store,
    gateway: {
      ...store.gateway,
      async beginSend(...given) {
        const row = await store.gateway.beginSend(...given)
        if (isPaused) return row
        isPaused = true
        pausedMs += PAUSE_MS
        await meanwhile(store)
        return row
      },
    },
  })
  return { clock, wrapStore }
}

test('a process that was paused before a call and lost its account makes no call', async (context) => {
  let isTaken = false
  const { clock, wrapStore } = pausingStore(async (store) => {
    await store.workers.beat(OTHER, 600_000)
    isTaken = (await store.gateway.claim({ organizationId: DEFAULT_ORGANIZATION, account: 'bot' }, OTHER)) !== undefined
  })
  const { telegram, fixture, stop } = await openGatewayFixture(context, {
    home: { clock, wrapStore, script: [{ text: 'Hello.' }] },
  })
  telegram.say('hello')
  await until(() => isTaken, telegram)
  // All that was in flight ends; the row belongs to the new owner.
  await stop()
  assert.deepEqual(
    telegram.calls.filter(({ method }) => /^(sendMessage|editMessageText)$/.test(method)),
    [],
  )
  assert.equal((await listOutbound({ limit: 5 }, fixture.context))[0]?.state, 'sending')
})

test('a process that was paused before a call and still owns its account makes the call, once', async (context) => {
  const { clock, wrapStore } = pausingStore(async () => undefined)
  const { telegram, waitFor, said } = await openGatewayFixture(context, {
    home: { clock, wrapStore, script: [{ text: 'Hello.' }] },
  })
  telegram.say('hello')
  await waitFor('Hello.')
  assert.deepEqual(said(), ['Hello.'])
  assert.equal(telegram.calls.filter(({ method }) => method === 'sendMessage').length, 1)
})
