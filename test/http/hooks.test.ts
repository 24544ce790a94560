import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { serveFor } from './fixture-server-process.ts'
import type { WireValue } from './send-modes.ts'

async function serve(context: TestContext, tools?: string[]) {
  const served = await serveFor(context, tools ? { tools } : {})
  const ask = async (method: string, path: string, body?: object): Promise<{ status: number; body: WireValue }> => {
    const response = await served.fetch(path, body ? { method, body: JSON.stringify(body) } : { method })
    return { status: response.status, body: await response.json() }
  }
  const create = async (hook: object) => {
    const { status, body } = await ask('POST', '/v1/hooks', { agent_id: served.agentId, ...hook })
    assert.equal(status, 200, JSON.stringify(body))
    return body as { id: string; path: string; secret: string }
  }
  /** As another program sends it: without a key. */
  const deliver = async (path: string, text: string, headers: Record<string, string>) => {
    const response = await fetch(`${served.url()}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: text,
    })
    return { status: response.status, body: (await response.json()) as WireValue }
  }
  const log = async (id: string) => (await ask('GET', `/v1/hooks/${id}/deliveries`)).body
  return { served, ask, create, deliver, log }
}

const standardly = (secret: string, text: string, { id = 'msg_1', at = new Date() } = {}) => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
  'webhook-signature': new Webhook(secret).sign(id, at, text),
})

const githubly = (secret: string, text: string, event = 'issues') => ({
  'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`,
  'x-github-event': event,
  'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
})

test('a signed request becomes a message, once, and the log names its run', async (context) => {
  const { served, create, deliver, log } = await serve(context)
  const hook = await create({
    scheme: 'standard',
    template: 'Paid: {{body.amount}} by {{body.who?}}',
    name: 'payments',
  })
  assert.equal(hook.path, `/v1/hooks/${hook.id}`)
  const text = '{"type":"paid","amount":42}'
  const headers = standardly(hook.secret, text)
  const answers = await Promise.all([1, 2, 3].map(() => deliver(hook.path, text, headers)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 202])
  const [{ run_id }] = answers.map(({ body }) => body) as [WireValue]
  assert.deepEqual(new Set(answers.map(({ body }) => body.run_id)), new Set([run_id]))
  const run: WireValue = await served.client.runs.retrieve(run_id)
  assert.deepEqual(
    [run.metadata.run_type, run.metadata.hook_id, run.metadata.delivery_id, run.metadata.on_guarded],
    ['hook', hook.id, 'msg_1', 'deny'],
  )
  const [entry, ...none] = await log(hook.id)
  assert.deepEqual(none, [])
  assert.deepEqual([entry.outcome, entry.run_id, entry.event, entry.repeats], ['accepted', run_id, 'paid', 2])
  const messages: WireValue = await served.fetch(`/v1/agents/${served.agentId}/messages`).then((found) => found.json())
  const sent = messages.filter(({ message_type: type }: WireValue) => type === 'user_message')
  assert.ok(sent.length <= 1)
})

test('a wrong signature, an old timestamp, 10 MB, a missing field and an event that nobody wants become no run, with the reason', async (context) => {
  const { ask, create, deliver, log } = await serve(context)
  const hook = await create({ scheme: 'standard', template: 'Title: {{body.issue.title}}', events: ['opened'] })
  const text = '{"type":"opened","issue":{}}'
  const other = '{"type":"closed","issue":{}}'
  const old = { at: new Date(Date.now() - 600_000) }
  const cases = [
    [text, standardly('whsec_AAAA', text), 403, 'The signature is wrong.'],
    [text, {}, 403, 'The header webhook-id is missing.'],
    [text, standardly(hook.secret, text, old), 403, 'The timestamp is more than five minutes away'],
    ['x'.repeat(10_000_000), standardly(hook.secret, text), 413, 'The body is larger than 1048576 bytes.'],
    [text, standardly(hook.secret, text), 422, 'The template names {{body.issue.title}}, which the delivery does not'],
    [other, standardly(hook.secret, other), 200, 'The hook takes opened, not "closed".'],
  ] as const
  for (const [sent, headers, status, reason] of cases) {
    const answer = await deliver(hook.path, sent, headers)
    assert.equal(answer.status, status, reason)
    const [newest] = await log(hook.id)
    assert.ok(newest.reason.startsWith(reason), newest.reason)
    assert.deepEqual([newest.outcome, newest.run_id], [status === 200 ? 'ignored' : 'refused', null])
  }
  assert.equal((await deliver(hook.path.replace(/.$/, '0'), text, {})).status, 404)
  assert.deepEqual((await ask('GET', '/v1/runs')).body, [])

  // What was refused may come again: here with the field.
  const whole = '{"type":"opened","issue":{"title":"Broken"}}'
  assert.equal((await deliver(hook.path, whole, standardly(hook.secret, whole))).status, 202)
  for (const bad of [{ template: '{{who}}' }, { template: 'x', scheme: 'none' }, { template: 'x', secret: '' }])
    assert.equal((await ask('POST', '/v1/hooks', { agent_id: 'ada', scheme: 'github', ...bad })).status >= 400, true)
})

test('GitHub may send a form, a replay under another delivery id finds the run, and a paused hook takes nothing', async (context) => {
  const { ask, create, deliver } = await serve(context)
  const secret = 'it-is-a-long-secret'
  const hook = await create({ scheme: 'github', secret, template: '{{event}}: {{body.action}}', per_minute: 2 })
  const text = `payload=${encodeURIComponent('{"action":"opened"}')}`
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const first = await deliver(hook.path, text, { ...githubly(secret, text), ...form })
  assert.equal(first.status, 202)
  const replayed = await deliver(hook.path, text, { ...githubly(secret, text), ...form, 'x-github-delivery': 'other' })
  assert.deepEqual(replayed.body, { outcome: 'repeated', run_id: first.body.run_id })
  const next = '{"action":"closed"}'
  assert.equal((await deliver(hook.path, next, githubly(secret, next))).status, 429)

  await ask('POST', `/v1/hooks/${hook.id}/pause`)
  assert.equal((await deliver(hook.path, next, githubly(secret, next))).status, 503)
  await ask('POST', `/v1/hooks/${hook.id}/resume`)
  const { body: replaced } = await ask('POST', `/v1/hooks/${hook.id}/secret`)
  const wrong = await deliver(hook.path, next, githubly('it-is-another-secret', next))
  assert.equal(wrong.status, 403)
  for (const known of [secret, replaced.secret])
    assert.notEqual((await deliver(hook.path, next, githubly(known, next))).status, 403)
  const shown = await ask('GET', '/v1/hooks')
  assert.equal(JSON.stringify(shown.body).includes(replaced.secret), false)
  assert.deepEqual((await ask('DELETE', `/v1/hooks/${hook.id}`)).body, { deleted: true })
})

test('a hook is changed by what is named, null is the default, and its deliveries follow the change', async (context) => {
  const { ask, create, deliver } = await serve(context)
  const hook = await create({
    scheme: 'github',
    template: 'one {{event}}',
    events: ['issues'],
    per_minute: 5,
    name: 'a',
  })
  const changed = await ask('PATCH', `/v1/hooks/${hook.id}`, {
    template: 'two {{event}}',
    events: null,
    per_minute: null,
  })
  assert.deepEqual(
    [changed.status, changed.body.template, changed.body.events, changed.body.per_minute, changed.body.name],
    [200, 'two {{event}}', null, 60, 'a'],
  )
  const text = '{"a":1}'
  assert.equal((await deliver(hook.path, text, githubly(hook.secret, text, 'push'))).status, 202)
  const refused = await ask('PATCH', `/v1/hooks/${hook.id}`, { template: '{{ who }}' })
  assert.equal(refused.status, 422)
  assert.match(JSON.stringify(refused.body), /is no name/)
  assert.equal((await ask('GET', `/v1/hooks/${hook.id}`)).body.template, 'two {{event}}')
})
