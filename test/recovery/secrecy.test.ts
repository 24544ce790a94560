import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import type { Reply } from '../../src/simulator/script.ts'
import type { RecoveryFixture } from './fixture-recovery.ts'
import { exchange, openRecoveryFixture } from './fixture-recovery.ts'

// A secret is in its request and nowhere else, even if the provider repeats it.

const HELLO: Reply = { text: 'Hello.' }
const KEYS = ['sk-proj-Abcdefghijklmnopqrstuvwx0123456789', 'a plain word of ours'.replaceAll(' ', '-')]

/** Errors in which a provider repeats the key. */
const ECHOES = [
  (key: string) => ({ error: 'invalid-key' as const, message: `Incorrect API key provided: ${key}.` }),
  (key: string) => ({ error: 'rate-limit' as const, message: `Rate limit reached for key ${key}.` }),
  (key: string) => ({ error: 'server-error' as const, message: `crash while serving authorization: Bearer ${key}` }),
  (key: string) => ({ status: 502, body: `<html><body>upstream got Authorization: Bearer ${key}</body></html>` }),
  (key: string) => ({ status: 400, body: { error: { message: 'bad', headers: { authorization: `Bearer ${key}` } } } }),
]

for (const [at, key] of KEYS.entries())
  for (const [number, echo] of ECHOES.entries())
    test(`key ${at + 1}, echo ${number + 1}: no secret in any event, chunk, error, report or file`, async (context) => {
      const setup = await openRecoveryFixture(context, {
        environment: { OPENAI_API_KEY: key },
        script: [{ when: { key }, answer: echo(key) }, { answer: HELLO }],
      })
      const { run } = await exchange(setup, 'one')
      const { fixture } = setup
      const visible = [
        run,
        await fixture.events(run.id),
        await fixture.chunks(run.id),
        await fixture.messages(),
        await fixture.cooldowns(),
        fixture.faults,
        await fixture.pool().choose('openai', { setAside: [], at: fixture.clock.now() }),
      ]
      for (const one of visible) {
        assert.ok(!JSON.stringify(one).includes(key), JSON.stringify(one))
        assert.ok(!inspect(one, { depth: 12 }).includes(key))
      }
      await fixture.stop()
      assertNotOnDisk(setup, key)
    })

test('no file of the home contains a token or refresh token in plain text', async (context) => {
  const setup = await openRecoveryFixture(context, {
    environment: { OPENAI_API_KEY: '' },
    script: [{ when: { key: 'access-1' }, answer: { error: 'expired' } }, { answer: HELLO }],
  })
  const { access_token, refresh_token } = setup.simulator.oauth.issue()
  await setup.fixture.addKey({
    provider: 'openai',
    label: 'mine',
    secret: access_token,
    refreshToken: refresh_token,
    oauth: { flow: 'generic', tokenUrl: `${setup.simulator.url}/oauth/token` },
  })
  const { run } = await exchange(setup, 'one')
  assert.equal(run.stopReason, 'end_turn')
  await setup.fixture.stop()
  for (const secret of ['access-1', 'refresh-1', 'access-2', 'refresh-2']) assertNotOnDisk(setup, secret)
})

function assertNotOnDisk({ fixture }: RecoveryFixture, secret: string): void {
  for (const name of readdirSync(fixture.home, { recursive: true, encoding: 'utf8' })) {
    const path = join(fixture.home, name)
    if (statSync(path).isFile()) assert.ok(!readFileSync(path).includes(secret), `${name} holds a secret`)
  }
}
