import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addKey, providersFixture } from './fixture-providers.ts'

const KEY = 'sk-test-0123456789-aaaa'
const OTHER = 'sk-test-0123456789-bbbb'

type Listed = {
  name: string
  state: string
  address_from: string
  credentials: { label: string; state: string; until: string | null; reason: string | null; hint: string }[]
  cooldowns: { key: string }[]
  deadlines_ms: { first_byte: number }
}

describe('holdfast providers', { concurrency: 4 }, () => {
  test('a provider is ready, resting or not configured, with its credentials and why', async (context) => {
    const given = await providersFixture(context, { environment: { OPENAI_API_KEY: KEY } })
    given.config('providers:\n  openai:\n    timeout_ms: 9000\n')
    await given.run('agents', 'create', 'ada', '--model', 'openai/simulated-model')
    const limited = { error: 'rate-limit-with-retry-after' as const, retryAfterSeconds: 600 }
    given.simulator.script({ answer: limited })
    const run = await given.run('run', '--agent', 'ada', 'hello')
    assert.equal(run.code, 20, run.stderr)

    const all = await given.json<Listed[]>('providers')
    const openai = all.find(({ name }) => name === 'openai')!
    assert.equal(openai.state, 'resting')
    assert.equal(openai.address_from, 'environment')
    assert.equal(openai.deadlines_ms.first_byte, 9_000)
    const [key] = openai.credentials
    assert.deepEqual(
      [key!.label, key!.state, key!.reason, key!.hint],
      ['OPENAI_API_KEY', 'resting', 'rate-limited', '…aaaa'],
    )
    assert.ok(Date.parse(key!.until!) > Date.now() + 500_000)
    assert.equal(all.find(({ name }) => name === 'groq')!.state, 'not-configured')

    const told = (await given.run('providers')).stdout
    assert.match(told, /^openai +resting {2}http:\/\/127\.0\.0\.1:\d+\/v1 \(environment\) {2}used by ada/m)
    assert.match(told, /OPENAI_API_KEY …aaaa {2}rests until \d{4}-.*, for (9|10) min \(rate-limited: /)
    assert.match(told, /^scripted +ready/m)
    assert.match(told, /Not configured.*groq +GROQ_API_KEY/s)
    assert.doesNotMatch(told, new RegExp(KEY))

    const refused = await given.run('providers', 'test', 'openai')
    assert.equal(refused.code, 20)
    assert.match(refused.stdout, /cooling-down.*\n.*every credential of openai is cooling down until/)
    const cleared = await given.run('providers', 'clear', 'openai')
    assert.match(cleared.stdout, /^OPENAI_API_KEY may be asked again; it would have rested until \d{4}-/)
    given.simulator.script()
    assert.match(
      (await given.run('providers', 'test', 'openai')).stdout,
      /^✓ openai\/simulated-model at http.*, asked with OPENAI_API_KEY: "You said: /,
    )
    assert.match((await given.run('providers', 'clear', 'openai')).stdout, /Nothing of openai rests\./)
  })

  test('a test goes through the real client and tells kind, words and advice when it fails', async (context) => {
    const given = await providersFixture(context, { keys: { [KEY]: 'valid' } })
    await addKey(given.location, 'anthropic', { label: 'work', key: OTHER })
    const failed = await given.run('providers', 'test', 'anthropic', '--model', 'claude-haiku-4-5')
    assert.equal(failed.code, 20)
    assert.match(
      failed.stdout,
      /^✗ anthropic\/claude-haiku-4-5 at http:\S+, asked with work: auth-rejected \(HTTP 401, authentication_error\)/,
    )
    assert.match(failed.stdout, /Check ANTHROPIC_API_KEY/)
    const [asked] = given.simulator.requests
    assert.deepEqual([asked!.protocol, asked!.model, asked!.key], ['anthropic', 'claude-haiku-4-5', OTHER])

    given.simulator.keys.set(OTHER, 'out-of-credit')
    const broke = await given.run('providers', 'test', 'anthropic', '--model', 'claude-haiku-4-5', '--json')
    assert.equal(broke.code, 25)
    assert.equal(JSON.parse(broke.stdout).failure.kind, 'quota-exhausted')
    given.simulator.keys.set(OTHER, 'valid')
    const answered = await given.run('providers', 'test', 'anthropic', '--json')
    assert.equal(answered.code, 0)
    assert.deepEqual([JSON.parse(answered.stdout).ok, JSON.parse(answered.stdout).credential], [true, 'work'])
  })

  test('mistakes name what there is', async (context) => {
    const given = await providersFixture(context)
    const unknown = await given.run('providers', 'test', 'opnai')
    assert.equal(unknown.code, 3)
    assert.match(unknown.stderr, /There is no provider "opnai"\. Known: anthropic, .*openai, /)
    const keyless = await given.run('providers', 'test', 'openai')
    assert.equal(keyless.code, 20)
    assert.match(
      keyless.stdout,
      /no API key is configured, so no request was sent\n {2}Set OPENAI_API_KEY, or run `holdfast auth add openai`\./,
    )
    const lost = await given.run('providers', 'test', 'azure')
    assert.equal(lost.code, 2)
    assert.match(lost.stderr, /Azure OpenAI has no address yet\. Set AZURE_OPENAI_BASE_URL/)
    assert.equal(given.simulator.requests.length, 0)
  })
})
