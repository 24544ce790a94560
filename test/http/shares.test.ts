import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { realClock as clock } from '../../src/config/real-clock.ts'
import type { RunId } from '../../src/core/id.ts'
import { success } from '../../src/tools/define-tool.ts'
import { gate, tool } from '../harness/tools.ts'
import { type KeyedServerFixture, requestOf, serveKeyed } from './fixture-keyed-server.ts'

type LimitState = { name: string; of: string; limit: number | null; used: number | null }
type LimitsBody = {
  organization_id: string
  key_id: string | null
  limits: LimitState[]
  models: string[] | null
}

const soon = () => clock.sleep(5, new AbortController().signal)

/** Turns that wait until the gate opens, and those of `free` tenants, which do not. */
async function serveTenants(context: TestContext, options: Parameters<typeof serveKeyed>[1] = {}) {
  const stuck = gate()
  context.after(() => stuck.open())
  let isHeld = true
  const served = await serveKeyed(context, {
    script: [{ calls: [{ tool: 'wait', input: {} }] }, { text: 'done' }],
    tools: [
      tool('wait', async () => {
        if (isHeld) await stuck.promise
        return success('waited')
      }),
    ],
    ...options,
  })
  const answerAtOnce = () => {
    isHeld = false
  }
  return { ...served, answerAtOnce, finish: stuck.open, tenant: (name: string) => newTenant(served, name) }
}

async function newTenant({ as, makeKey, makeOrganization }: KeyedServerFixture, name: string) {
  const organization_id = await makeOrganization(name)
  const keys = await Promise.all([1, 2, 3].map(async () => (await makeKey({ scope: 'agent', organization_id })).key))
  const send = async (key: string) => {
    const made = await as(key)('POST', '/v1/agents', { name, model: 'test/model', tools: ['wait'] })
    assert.equal(made.status, 200, JSON.stringify(made.body))
    return as(key)('POST', `/v1/agents/${(made.body as { id: string }).id}/messages/async`, { input: 'hi' })
  }
  const limitsOf = async (key: string) => {
    const { limits } = (await as(key)('GET', '/v1/limits')).body as LimitsBody
    return Object.fromEntries(limits.map(({ name: limit, used }) => [limit, used]))
  }
  return { id: organization_id, keys: keys as [string, string, string], send, limitsOf }
}

const detailOf = ({ body }: { body: never }): string => (body as { detail: string }).detail

test('another organization is served with the next free slot, whatever the first has queued with however many keys', async (context) => {
  const { tenant, answerAtOnce, fixture } = await serveTenants(context, { maxRunning: 4 })
  const { dispatcher } = fixture.context.engine!
  const first = await tenant('first')
  const other = await tenant('other')
  for (let index = 0; index < 24; index++) assert.equal((await first.send(first.keys[index % 3]!)).status, 200)
  // One slot is left to others.
  while (dispatcher.running().length < 3) await soon()
  answerAtOnce()
  const { body } = await other.send(other.keys[0])
  const { store } = fixture.context.deps
  while ((await store.runs.getAnywhere((body as { id: RunId }).id))?.status !== 'completed') await soon()
  assert.equal(dispatcher.running().length, 3)
  const used = await first.limitsOf(first.keys[0])
  assert.equal(used.turns_per_organization, 3)
  assert.equal(used.queued_turns_per_organization, 21)
  assert.equal((await other.limitsOf(other.keys[0])).queued_turns_per_organization, 0)
})

test('with one slot, two organizations take turns', async (context) => {
  const { tenant, answerAtOnce, finish, fixture } = await serveTenants(context, { maxRunning: 1 })
  const first = await tenant('first')
  const other = await tenant('other')
  for (let index = 0; index < 6; index++) assert.equal((await first.send(first.keys[0])).status, 200)
  for (let index = 0; index < 2; index++) assert.equal((await other.send(other.keys[0])).status, 200)
  answerAtOnce()
  finish()
  const { store } = fixture.context.deps
  const runs = async (id: string) => store.runs.list(id as never, {}, { limit: 20, order: 'oldest-first' })
  while ((await runs(first.id)).some(({ status }) => status !== 'completed')) await soon()
  const order = [...(await runs(first.id)), ...(await runs(other.id))]
    .toSorted((one, next) => one.startedAt! - next.startedAt! || one.completedAt! - next.completedAt!)
    .map(({ organizationId }) => (organizationId === first.id ? 'first' : 'other'))
  assert.deepEqual(order.slice(0, 4), ['first', 'other', 'first', 'other'])
})

test('more keys are no more queued turns, and the refusal names the limit', async (context) => {
  const limits = { queuedTurnsPerOrganization: 4, queuedTurnsPerKey: 3 }
  const { tenant } = await serveTenants(context, { maxRunning: 2, limits })
  const { keys, send } = await tenant('many keys')
  for (let count = 0; count < 4; count++) assert.equal((await send(keys[0])).status, 200)
  const ofKey = await send(keys[0])
  assert.equal(ofKey.status, 429)
  assert.match(detailOf(ofKey), /This key has 3 queued turns, which is its limit \(limits\.queued_turns_per_key\)/)
  assert.equal((await send(keys[1])).status, 200)
  const ofOrganization = await send(keys[2])
  assert.equal(ofOrganization.status, 429)
  assert.match(detailOf(ofOrganization), /This organization has 4 queued turns.*limits\.queued_turns_per_organization/)
})

test('the requests of all keys of an organization are limited together, and others are not affected', async (context) => {
  const { as, tenant } = await serveTenants(context, { limits: { requestsPerSecondPerOrganization: 2 } })
  const { keys } = await tenant('flood')
  const other = await tenant('quiet')
  const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => as(keys[index % 3])('GET', '/v1/agents')))
  const refused = answers.filter(({ status }) => status === 429)
  assert.ok(refused.length >= 6, `${refused.length} of 12 were refused`)
  assert.match(detailOf(refused[0]!), /2 requests per second for all keys of this organization/)
  assert.ok(Number(refused[0]!.headers.get('retry-after')) >= 1)
  assert.equal((await as(other.keys[0])('GET', '/v1/agents')).status, 200)
})

test('the open requests and the streams of an organization and of a key are limited', async (context) => {
  const limits = { streamsPerKey: 2, streamsPerOrganization: 3, openRequestsPerOrganization: 4 }
  const { as, tenant, url, fixture } = await serveTenants(context, { limits })
  const { keys, send, limitsOf } = await tenant('watchers')
  const run = ((await send(keys[0])).body as { id: string }).id
  const leave = new AbortController()
  const watch = (key: string) =>
    fetch(`${url}/v1/runs/${run}/stream`, { method: 'POST', signal: leave.signal, ...requestOf(key, {}) })
  assert.deepEqual([(await watch(keys[0])).status, (await watch(keys[0])).status], [200, 200])
  const thirdOfKey = await watch(keys[0])
  assert.equal(thirdOfKey.status, 429)
  assert.match(await thirdOfKey.text(), /This key has 2 open streams.*limits\.streams_per_key/)
  assert.equal((await watch(keys[1])).status, 200)
  const ofOrganization = await watch(keys[2])
  assert.equal(ofOrganization.status, 429)
  assert.match(await ofOrganization.text(), /This organization has 3 open streams.*limits\.streams_per_organization/)
  assert.equal((await limitsOf(keys[2])).streams_per_organization, 3)
  const open = await Promise.all(Array.from({ length: 6 }, () => as(keys[2])('GET', `/v1/agents`)))
  assert.ok(open.some(({ status }) => status === 429 || status === 200))
  leave.abort()
  while ((await limitsOf(keys[2])).streams_per_organization !== 0) await soon()
  assert.deepEqual(fixture.faults, [])
})

test('an operator sets limits of one organization; those who have them see them, and only an operator changes them', async (context) => {
  const { as, makeKey, tenant } = await serveTenants(context)
  const { id, keys } = await tenant('limited')
  const path = `/v1/organizations/${id}/limits`
  const body = { limits: { queued_turns_per_organization: 7 }, models: ['test/*'] }
  const admin = await makeKey({ scope: 'admin', organization_id: id })
  assert.equal((await as(admin.key)('PATCH', path, body)).status, 403)
  const changed = await as()('PATCH', path, body)
  assert.equal(changed.status, 200)
  const shown = (await as(keys[0])('GET', '/v1/limits')).body as LimitsBody
  assert.equal(shown.organization_id, id)
  assert.match(shown.key_id!, /^key-/)
  assert.deepEqual(shown.models, ['test/*'])
  assert.equal(shown.limits.find(({ name }) => name === 'queued_turns_per_organization')?.limit, 7)
  assert.ok(shown.limits.some(({ of }) => of === 'key'))
  assert.equal(
    (await as(keys[0])('GET', `/v1/limits?organization_id=org-00000000-0000-4000-8000-000000000000`)).status,
    404,
  )
  const back = await as()('PATCH', path, { limits: { queued_turns_per_organization: null }, models: null })
  assert.equal((back.body as LimitsBody).models, null)
  assert.equal((back.body as LimitsBody).limits[1]!.limit, 1_000)
  const wrong = await as()('PATCH', path, { limits: { no_such_limit: 1 } })
  assert.equal(wrong.status, 422)
  const lines = (await as()('GET', `/v1/audit?organization_id=${id}`)).body as { verb: string }[]
  assert.equal(lines.filter(({ verb }) => verb === 'limits.change').length, 2)
})

test('the organization that the home began with has no limit unless one is set for it', async (context) => {
  const { as } = await serveTenants(context, { limits: { queuedTurnsPerOrganization: 1 } })
  const { limits } = (await as()('GET', '/v1/limits')).body as LimitsBody
  for (const { name, of, limit } of limits)
    if (of === 'organization' && name !== 'bytes_in_flight') assert.equal(limit, null, name)
  const changed = await as()('PATCH', '/v1/organizations/default/limits', { limits: { streams_per_organization: 5 } })
  assert.equal((changed.body as LimitsBody).limits.find(({ name }) => name === 'streams_per_organization')?.limit, 5)
})

test('an organization at its limit of stored bytes adds nothing, reads and deletes on, and has room again after a deletion', async (context) => {
  const { as, makeKey, tenant } = await serveTenants(context)
  const { id, keys, send, limitsOf } = await tenant('full')
  const [key] = keys
  const agent = ((await as(key)('POST', '/v1/agents', { name: 'full', model: 'test/model' })).body as { id: string }).id
  const memory = `/v1/agents/${agent}/archival-memory`
  const [passage] = (await as(key)('POST', memory, { text: 'word '.repeat(10_000) })).body as { id: string }[]
  const used = (await limitsOf(key)).stored_bytes_per_organization!
  assert.ok(used > 50_000, String(used))
  const set = (limit: number | null) =>
    as()('PATCH', `/v1/organizations/${id}/limits`, { limits: { stored_bytes_per_organization: limit } })
  await set(used + 1_000)

  const text = 'x'.repeat(2_000)
  const source_code = `def f(x: str) -> str:\n    """${text}"""\n    return x\n`
  const additions: [method: string, path: string, body: object][] = [
    ['POST', memory, { text }],
    ['POST', '/v1/blocks', { label: 'note', value: text }],
    ['POST', '/v1/agents', { name: 'another', model: 'test/model', system: text }],
    ['PATCH', `/v1/agents/${agent}`, { system: text }],
    ['POST', '/v1/tools', { source_code }],
    ['PUT', '/v1/tools', { source_code }],
    ['POST', `/v1/agents/${agent}/messages`, { input: text }],
    ['POST', `/v1/agents/${agent}/messages/async`, { input: text }],
  ]
  const admin = (await makeKey({ scope: 'admin', organization_id: id })).key
  for (const [method, path, body] of additions) {
    const refused = await as(path === '/v1/tools' ? admin : key)(method, path, body)
    assert.equal(refused.status, 429, `${method} ${path}: ${JSON.stringify(refused.body)}`)
    assert.match(detailOf(refused), /limits\.stored_bytes_per_organization/)
  }
  assert.equal((await limitsOf(key)).stored_bytes_per_organization, used, 'nothing was written')
  assert.equal((await as(key)('POST', '/v1/blocks', { label: 'small', value: 'fits' })).status, 200)
  const atOnce = await Promise.all(Array.from({ length: 10 }, () => as(key)('POST', memory, { text: 'x'.repeat(300) })))
  assert.equal(atOnce.filter(({ status }) => status === 200).length, 3, 'requests at once do not pass it together')
  assert.equal((await as(key)('GET', memory)).status, 200)
  const other = await tenant('other')
  assert.equal((await other.send(other.keys[0])).status, 200, 'the limit is of one organization')

  assert.equal((await as(key)('DELETE', `${memory}/${passage!.id}`)).status, 200)
  while ((await as(key)('POST', memory, { text })).status !== 200) await soon()
  await set(null)
  assert.equal((await send(key)).status, 200)
})
