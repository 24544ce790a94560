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
  test('the list shows whether a provider is ready, cooling down or not configured, with credentials and reasons', async (context) => {
    const fixture = await providersFixture(context, { environment: { OPENAI_API_KEY: KEY } })
    fixture.config('providers:\n  openai:\n    timeout_ms: 9000\n')
    await fixture.run('agents', 'create', 'ada', '--model', 'openai/simulated-model')
    const limited = { error: 'rate-limit-with-retry-after' as const, retryAfterSeconds: 600 }
    fixture.simulator.script({ answer: limited })
    const run = await fixture.run('run', '--agent', 'ada', 'hello')
    assert.equal(run.code, 20, run.stderr)

    const all = await fixture.json<Listed[]>('providers')
    const openai = all.find(({ name }) => name === 'openai')!
    assert.equal(openai.state, 'cooling-down')
    assert.equal(openai.address_from, 'environment')
    assert.equal(openai.deadlines_ms.first_byte, 9_000)
    const [key] = openai.credentials
    assert.deepEqual(
      [key!.label, key!.state, key!.reason, key!.hint],
      ['OPENAI_API_KEY', 'cooling-down', 'rate-limited', '…aaaa'],
    )
    assert.ok(Date.parse(key!.until!) > Date.now() + 500_000)
    assert.equal(all.find(({ name }) => name === 'groq')!.state, 'not-configured')

    const output = (await fixture.run('providers')).stdout
    assert.match(output, /^openai +cooling down {2}http:\/\/127\.0\.0\.1:\d+\/v1 \(environment\) {2}used by ada/m)
    assert.match(output, /OPENAI_API_KEY …aaaa {2}cooling down until \d{4}-.* \((9|10) min left\) \(rate-limited: /)
    assert.match(output, /^scripted +ready/m)
    assert.match(output, /Not configured.*groq +GROQ_API_KEY/s)
    assert.doesNotMatch(output, new RegExp(KEY))

    const refused = await fixture.run('providers', 'test', 'openai')
    assert.equal(refused.code, 20)
    assert.match(refused.stdout, /cooling-down.*\n.*every credential of openai is cooling down until/)
    const cleared = await fixture.run('providers', 'clear', 'openai')
    assert.match(cleared.stdout, /^OPENAI_API_KEY can be used again; its cooldown would have lasted until \d{4}-/)
    fixture.simulator.script()
    assert.match(
      (await fixture.run('providers', 'test', 'openai')).stdout,
      /^✓ openai\/simulated-model at http.*, with OPENAI_API_KEY: "You said: /,
    )
    assert.match((await fixture.run('providers', 'clear', 'openai')).stdout, /openai has no cooldowns\./)
  })

  test('a test uses the real client and reports kind, detail and advice of a failure', async (context) => {
    const fixture = await providersFixture(context, { keys: { [KEY]: 'valid' } })
    await addKey(fixture.location, 'anthropic', { label: 'work', key: OTHER })
    const failed = await fixture.run('providers', 'test', 'anthropic', '--model', 'claude-haiku-4-5')
    assert.equal(failed.code, 20)
    assert.match(
      failed.stdout,
      /^✗ anthropic\/claude-haiku-4-5 at http:\S+, with work: auth-rejected \(HTTP 401, authentication_error\)/,
    )
    assert.match(failed.stdout, /Check ANTHROPIC_API_KEY/)
    const [asked] = fixture.simulator.requests
    assert.deepEqual([asked!.protocol, asked!.model, asked!.key], ['anthropic', 'claude-haiku-4-5', OTHER])

    fixture.simulator.keys.set(OTHER, 'out-of-credit')
    const broke = await fixture.run('providers', 'test', 'anthropic', '--model', 'claude-haiku-4-5', '--json')
    assert.equal(broke.code, 25)
    assert.equal(JSON.parse(broke.stdout).failure.kind, 'quota-exhausted')
    fixture.simulator.keys.set(OTHER, 'valid')
    const answered = await fixture.run('providers', 'test', 'anthropic', '--json')
    assert.equal(answered.code, 0)
    assert.deepEqual([JSON.parse(answered.stdout).ok, JSON.parse(answered.stdout).credential], [true, 'work'])
  })

  test('mistakes name the known providers and variables', async (context) => {
    const fixture = await providersFixture(context)
    const unknown = await fixture.run('providers', 'test', 'opnai')
    assert.equal(unknown.code, 3)
    assert.match(unknown.stderr, /There is no provider "opnai"\. Known: anthropic, .*openai, /)
    const keyless = await fixture.run('providers', 'test', 'openai')
    assert.equal(keyless.code, 20)
    assert.match(
      keyless.stdout,
      /the API key is missing, so no request was sent\n {2}Set OPENAI_API_KEY, or run `\S.*auth add openai`\. You get a key under "API keys" in the OpenAI platform settings\./,
    )
    const lost = await fixture.run('providers', 'test', 'azure')
    assert.equal(lost.code, 2)
    assert.match(lost.stderr, /Azure OpenAI has no address yet\. Set AZURE_OPENAI_BASE_URL/)
    assert.equal(fixture.simulator.requests.length, 0)
  })
})
