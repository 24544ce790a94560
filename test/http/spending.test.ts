import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { realClock as clock } from '../../src/config/real-clock.ts'
import type { RunId } from '../../src/core/id.ts'
import { waitForRun } from '../../src/service/runs/watch-run.ts'
import { serveKeyed } from './fixture-keyed-server.ts'

type Limits = {
  limits: { name: string; of: string; used: number | null }[]
  unpriced: { model: string; tokens: number }[]
}

const soon = () => clock.sleep(5, new AbortController().signal)

/** Prompts are free, so that a request costs at most as many dollars as it may have output tokens. */
const DOLLAR_A_TOKEN = { input: 0, output: 1_000_000, asOf: 'test' }

async function serveSpender(context: TestContext, options: Parameters<typeof serveKeyed>[1] = {}) {
  const served = await serveKeyed(context, {
    script: [{ text: 'Hello there.' }],
    priceOf: ({ model }) => (model === 'model' ? DOLLAR_A_TOKEN : undefined),
    ...options,
  })
  const { as, makeKey, makeOrganization, fixture } = served
  const organization_id = await makeOrganization('spender')
  const keys = [await makeKey({ scope: 'agent', organization_id }), await makeKey({ scope: 'agent', organization_id })]
  const limit = (limits: Record<string, number>, more: object = {}) =>
    as()('PATCH', `/v1/organizations/${organization_id}/limits`, { limits, ...more })
  const newAgent = async (model: string, more: object = {}) => {
    const made = await as(keys[0]!.key)('POST', '/v1/agents', { name: 'ada', model, ...more })
    assert.equal(made.status, 200, JSON.stringify(made.body))
    return (made.body as { id: string }).id
  }
  const start = async (agent: string, key = keys[0]!.key) => {
    const sent = await as(key)('POST', `/v1/agents/${agent}/messages/async`, { input: 'hi', max_steps: 1 })
    assert.equal(sent.status, 200, JSON.stringify(sent.body))
    return (sent.body as { id: RunId }).id
  }
  const inOrganization = () => ({ ...fixture.context, organizationId: organization_id as `org-${string}` })
  const ask = async (agent: string, key?: string) => waitForRun(await start(agent, key), inOrganization())
  const shown = async () => (await as(keys[0]!.key)('GET', '/v1/limits')).body as Limits
  const used = async (name: string) => (await shown()).limits.find((one) => one.name === name)?.used
  return { ...served, keys: keys.map(({ key }) => key) as [string, string], limit, newAgent, start, ask, shown, used }
}

const SETTINGS = { model_settings: { provider_type: 'openai', max_output_tokens: 1_000 } }

test('a request whose highest price would pass the limit of the day is not sent, and the run says which limit', async (context) => {
  const { limit, newAgent, ask, used, fixture } = await serveSpender(context)
  const agent = await newAgent('test/model')
  await limit({ dollars_per_day_per_organization: 5 })
  const run = await ask(agent)
  assert.equal(run.stopReason, 'insufficient_credits')
  assert.match(
    run.error?.detail ?? '',
    /limit of \$5 a day \(limits\.dollars_per_day_per_organization\).*no request was sent/,
  )
  assert.deepEqual(fixture.requests, [])
  assert.equal(await used('dollars_per_day_per_organization'), 0)
})

test('what was reserved becomes what was used, and is shared by all keys of the organization', async (context) => {
  const { limit, newAgent, ask, used, keys, fixture } = await serveSpender(context, {
    script: [{ text: 'Hello there.', usage: { promptTokens: 10, completionTokens: 5 } }],
  })
  const agent = await newAgent('test/model', SETTINGS)
  await limit({ dollars_per_day_per_organization: 100_000 })
  assert.equal((await ask(agent)).status, 'completed')
  const spent = await used('dollars_per_day_per_organization')
  assert.equal(spent, 5)
  await limit({ dollars_per_day_per_organization: 100 })
  assert.equal((await ask(agent, keys[1])).stopReason, 'insufficient_credits')
  assert.equal(fixture.requests.length, 1)
})

test('requests that run side by side cannot pass a limit together: each reserves before it is sent', {
  timeout: 15_000,
}, async (context) => {
  const { limit, newAgent, start, fixture } = await serveSpender(context, { script: [{ stall: true }] })
  const agents = await Promise.all([1, 2, 3, 4, 5].map(() => newAgent('test/model', SETTINGS)))
  await limit({ dollars_per_day_per_organization: 2_500 })
  const runs = await Promise.all(agents.map((agent) => start(agent)))
  const { store } = fixture.context.deps
  const reasons = async () =>
    (await Promise.all(runs.map((id) => store.runs.getAnywhere(id)))).map((run) => run?.stopReason)
  while ((await reasons()).filter((reason) => reason === 'insufficient_credits').length < 3) await soon()
  while (fixture.requests.length < 2) await soon()
  assert.equal((await reasons()).filter((reason) => reason === undefined).length, 2)
})

test('a key has a limit of its own', async (context) => {
  const { newAgent, ask, keys } = await serveSpender(context, {
    script: [{ text: 'Hello there.', usage: { promptTokens: 10, completionTokens: 5 } }],
    limits: { dollarsPerDayPerKey: 1_500 },
  })
  const agent = await newAgent('test/model', SETTINGS)
  for (let count = 0; count < 3; count++) assert.equal((await ask(agent)).status, 'completed')
  const greedy = await newAgent('test/model')
  const refused = await ask(greedy)
  assert.match(
    refused.error?.detail ?? '',
    /the key would pass its limit of \$1500 a day \(limits\.dollars_per_day_per_key\)/,
  )
  assert.equal((await ask(agent, keys[1])).status, 'completed')
})

test('a model without a price is named and counted by tokens', async (context) => {
  const { limit, newAgent, ask, shown, used } = await serveSpender(context, {
    priceOf: () => undefined,
    script: [{ text: 'Hello there.', usage: { promptTokens: 10, completionTokens: 5 } }],
  })
  const agent = await newAgent('test/model', SETTINGS)
  await limit({ tokens_per_day_per_organization: 50_000 })
  assert.equal((await ask(agent)).status, 'completed')
  assert.equal(await used('tokens_per_day_per_organization'), 15)
  assert.deepEqual((await shown()).unpriced, [{ model: 'test/model', tokens: 15 }])
  await limit({ tokens_per_day_per_organization: 100 })
  const refused = await ask(agent)
  assert.equal(refused.stopReason, 'insufficient_credits')
  assert.match(refused.error?.detail ?? '', /100 tokens a day of models without a known price, such as test\/model/)
})

test('an organization uses the models that it may use, and the run names the model that it may not', async (context) => {
  const { limit, newAgent, ask, fixture } = await serveSpender(context)
  const agent = await newAgent('test/model')
  await limit({}, { models: ['other/*'] })
  const run = await ask(agent)
  assert.equal(run.status, 'failed')
  assert.match(run.error?.detail ?? '', /test\/model is not among the models that the organization may use/)
  assert.deepEqual(fixture.requests, [])
  await limit({}, { models: ['other/*', 'test/*'] })
  assert.equal((await ask(agent)).status, 'completed')
})
