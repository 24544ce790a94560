import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { providersFixture } from './fixture-providers.ts'

const KEYS = {
  OPENAI_API_KEY: 'sk-test-openai-0000',
  ANTHROPIC_API_KEY: 'sk-test-anthropic-0000',
  GEMINI_API_KEY: 'sk-test-gemini-0000',
}

type Provider = {
  provider: string
  failure: { kind: string; status: number | null } | null
  models: {
    handle: string
    window: number | null
    window_from: string | null
    max_output: number | null
    price: { input: number; as_of: string } | null
    used_by: string[]
    listed: boolean
  }[]
}

describe('holdfast models', { concurrency: 4 }, () => {
  test('what is remembered of a model is listed with its end, shown by the run, and forgotten by name', async (context) => {
    const fixture = await providersFixture(context, { environment: KEYS })
    fixture.simulator.keys.set(KEYS.ANTHROPIC_API_KEY, 'valid')
    fixture.simulator.script(
      { when: { headers: { 'anthropic-beta': 'context-1m' } }, answer: { error: 'long-context-beta' } },
      { answer: { text: 'Hello.' } },
    )
    const none = await fixture.run('models', 'notes')
    assert.match(none.stdout, /Nothing is remembered of any model\./)
    const handle = 'anthropic/claude-sonnet-4-5[1m]'
    await fixture.run('agents', 'create', 'ada', '--model', handle)
    for (const text of ['one', 'two']) assert.equal((await fixture.run('run', text, '--agent', 'ada')).code, 0)
    const { stdout } = await fixture.run('models', 'notes')
    assert.match(
      stdout,
      /claude-sonnet-4-5\[1m\] {2}no long-context beta, with .*ANTHROPIC_API_KEY\n {2}since 20.* \(run-.*until/,
    )
    const [note] = await fixture.json<{ model: string; kind: string; run_id: string }[]>('models', 'notes')
    assert.deepEqual([note?.model, note?.kind], [handle, 'dropLongContextBeta'])
    assert.match((await fixture.run('runs', 'show', note!.run_id)).stdout, /learned: no long-context beta, from now on/)
    const runs = await fixture.json<{ run_id: string }[]>('runs')
    const second = runs.find(({ run_id }) => run_id !== note?.run_id)!
    assert.match(
      (await fixture.run('runs', 'show', second.run_id)).stdout,
      /remembered from an earlier failure: no long-/,
    )
    assert.match((await fixture.run('models', 'forget', handle)).stdout, /Forgotten: 1 note on anthropic/)
    assert.match((await fixture.run('models', 'forget', handle)).stdout, /Nothing was remembered of anthropic/)
    const wrong = await fixture.run('models', 'forget', 'claude')
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /"claude" is not a model handle, written provider\/model/)
  })

  test('every configured provider lists its models or shows why it cannot', async (context) => {
    const models = ['gpt-4o', 'claude-haiku-4-5', 'gemini-2.5-pro', 'house-model']
    const fixture = await providersFixture(context, { environment: KEYS, models })
    fixture.config(
      'providers:\n  openai:\n    windows: { house-model: 4096 }\n  groq: { base_url: "http://127.0.0.1:9" }\n',
    )
    await fixture.run('agents', 'create', 'ada', '--model', 'openai/house-model', '--fallback', 'groq/gone')
    fixture.simulator.keys.set(KEYS.OPENAI_API_KEY, 'valid')
    fixture.simulator.keys.set(KEYS.GEMINI_API_KEY, 'valid')
    const all = await fixture.json<Provider[]>('models')
    const of = (name: string) => all.find(({ provider }) => provider === name)!
    const model = (name: string, handle: string) => of(name).models.find((one) => one.handle === handle)

    assert.equal(of('scripted').models[0]!.handle, 'scripted/friendly')
    const house = model('openai', 'openai/house-model')!
    assert.deepEqual([house.window, house.window_from, house.price, house.used_by], [4_096, 'config', null, ['ada']])
    const gpt = model('openai', 'openai/gpt-4o')!
    assert.deepEqual([gpt.window, gpt.window_from, gpt.max_output, gpt.price!.input], [128_000, 'table', 16_384, 2.5])
    assert.match(gpt.price!.as_of, /^\d{4}-\d{2}-\d{2}$/)
    const stated = model('gemini', 'gemini/house-model')!
    assert.deepEqual([stated.window, stated.window_from, stated.max_output], [1_048_576, 'stated', 65_536])
    assert.deepEqual([of('anthropic').failure?.kind, of('anthropic').failure?.status], ['auth-rejected', 401])
    assert.equal(of('groq').failure?.kind, 'auth-rejected', 'it has no key')
    assert.deepEqual(
      of('groq').models.map(({ handle, listed }) => [handle, listed]),
      [['groq/gone', false]],
    )
    const anthropicList = fixture.simulator.requests.find(({ headers }) => headers['anthropic-version'])
    assert.match(anthropicList!.path, /\/v1\/models/)

    const output = await fixture.run('models', '--provider', 'openai')
    assert.match(
      output.stdout,
      /openai\/house-model +window 4,096 \(config\) {2}output unknown {2}price unknown {2}used by ada/,
    )
    assert.match(
      output.stdout,
      /openai\/gpt-4o +window 128,000 \(table\) {2}output 16,384 {2}\$2\.5 in, \$10 out, cached \$1\.25 \(2026-/,
    )
    assert.doesNotMatch(output.stdout, /scripted|gemini\//)
    assert.match(
      (await fixture.run('models')).stdout,
      /anthropic\n {2}its models could not be listed: auth-rejected \(HTTP 401\): /,
    )
  })

  test('a slow or failing provider takes no longer than its deadline and hides no other provider', async (context) => {
    const fixture = await providersFixture(context, { environment: { OPENAI_API_KEY: KEYS.OPENAI_API_KEY } })
    fixture.config('providers:\n  house: { base_url: "http://127.0.0.1:9/v1" }\n')
    fixture.simulator.script({ when: { protocol: 'models' }, answer: { line: 'silent' } })
    const all = await fixture.json<Provider[]>('models')
    const kinds = Object.fromEntries(all.map(({ provider, failure }) => [provider, failure?.kind]))
    assert.deepEqual([kinds.openai, kinds.house], ['timeout', 'unreachable'])
    assert.equal(kinds.scripted, undefined)
  })

  test('agents without a model use the model and failover chain of config.yaml', async (context) => {
    const fixture = await providersFixture(context, { environment: KEYS })
    fixture.config('model: openai/one\nfallback: [gemini/two]\n')
    assert.match((await fixture.run('run', 'hello')).stdout, /^You said: hello/)
    assert.deepEqual([fixture.simulator.requests[0]!.model, fixture.simulator.requests.length], ['one', 1])
    fixture.simulator.script({ when: { model: 'one' }, answer: { error: 'model-not-found' } })
    assert.match((await fixture.run('run', 'again')).stdout, /^You said: again/)
    assert.equal(fixture.simulator.requests.at(-1)!.model, 'two')
  })

  test('an unknown provider is reported with the known ones', async (context) => {
    const fixture = await providersFixture(context)
    const { code, stderr } = await fixture.run('models', '--provider', 'nobody')
    assert.equal(code, 3)
    assert.match(stderr, /There is no provider "nobody"\. Known: anthropic, /)
  })
})
