import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addKey, providersFixture } from './fixture-providers.ts'

const WORK = 'sk-test-0123456789-work'
const SPARE = 'sk-test-0123456789-more'
const CLAUDE = 'sk-test-0123456789-anth'

/** Asserts that the parts appear in this order. */
function assertInOrder(text: string, parts: RegExp[]): void {
  let place = 0
  for (const part of parts) {
    const found = text.slice(place).search(part)
    assert.ok(found >= 0, `${part} is missing, or too early, in\n${text}`)
    place += found
  }
}

describe('the story of a run', { concurrency: 4 }, () => {
  test('runs show prints each attempt: target, credential, failure, remedy and cost', async (context) => {
    const fixture = await providersFixture(context, { environment: { ANTHROPIC_API_KEY: CLAUDE } })
    await addKey(fixture.location, 'openai', { label: 'work', key: WORK })
    await addKey(fixture.location, 'openai', { label: 'spare', key: SPARE })
    const chain = ['--model', 'openai/gpt-4o', '--fallback', 'anthropic/claude-sonnet-4-5']
    await fixture.run('agents', 'create', 'ada', ...chain)
    fixture.simulator.script(
      { when: { key: WORK }, answer: { error: 'rate-limit-with-retry-after', retryAfterSeconds: 120 } },
      { when: { key: SPARE }, answer: { error: 'insufficient-quota' } },
      { answer: { text: 'Hello Ada.', usage: { input: 1_000, output: 20, cached: 600, written: 300 } } },
    )
    const run = await fixture.run('run', '--agent', 'ada', '--json', 'hello')
    const { run_id } = JSON.parse(run.stdout)
    const { stdout } = await fixture.run('runs', 'show', run_id)
    assertInOrder(stdout, [
      /models: openai\/gpt-4o → anthropic\/claude-sonnet-4-5/,
      /attempt failed: openai\/gpt-4o, rate-limited \(HTTP 429, /,
      /credential: work\n/,
      /remedy: next-credential\. Switching to another credential\./,
      /work is cooling down until \d{4}-\d{2}-\d{2}T.*\(rate-limited\)/,
      /attempt failed: openai\/gpt-4o, quota-exhausted \(HTTP 429, insufficient_quota\)/,
      /credential: spare\n/,
      /remedy: next-target\. Failing over to the next model in the chain: anthropic\/claude-sonnet-4-5\./,
      /answered by anthropic\/claude-sonnet-4-5: 1000 \+ 20 tokens \(600 cached, 300 written to the cache\), \$0\.001905 at the prices of 2026-10-10/,
      /credential: ANTHROPIC_API_KEY/,
      /3 attempts\n {2}2 failed, 1 answered; answered by anthropic\/claude-sonnet-4-5 in the end/,
    ])
    assert.doesNotMatch(stdout, /sk-test/)
    const shown = JSON.parse((await fixture.run('runs', 'show', run_id, '--json')).stdout)
    assert.deepEqual([shown.cost_usd.toFixed(6), shown.cost_is_whole], ['0.001905', true])
    assert.equal(shown.steps[0].usage.cached_tokens, 600)
  })

  test('a run that ends without an answer prints the waits and what to do', async (context) => {
    const fixture = await providersFixture(context, { environment: { OPENAI_API_KEY: WORK } })
    await fixture.run('agents', 'create', 'ada', '--model', 'openai/gpt-4o')
    fixture.simulator.script({ times: 1, answer: { error: 'overloaded' } }, { answer: { error: 'revoked' } })
    const run = await fixture.run('run', '--agent', 'ada', '--json', 'hello')
    assert.equal(run.code, 20)
    const { stdout } = await fixture.run('runs', 'show', JSON.parse(run.stdout).run_id)
    assertInOrder(stdout, [
      /attempt failed: openai\/gpt-4o, overloaded \(HTTP 503/,
      /remedy: wait\. Waiting a moment, then retrying\. Waited 0\.\d s\./,
      /attempt failed: openai\/gpt-4o, auth-rejected \(HTTP 401/,
      /remedy: give-up\. Giving up: no remedy is left\./,
      /what to do: Check OPENAI_API_KEY/,
      /no model answered/,
    ])
  })
})
