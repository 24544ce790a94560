import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { checkStore } from '../../src/service/store/check-store.ts'
import { tool } from '../harness/tools.ts'
import { serveKeyed } from './fixture-keyed-server.ts'

// The audit log says who did what, completely, or the deed is not done; and a change of the log shows.

type Line = {
  actor: string
  verb: string
  object: string | null
  detail: string | null
  outcome: string
  status: number | null
  sequence: number
}

async function serveAudited(context: TestContext) {
  const server = await serveKeyed(context, {
    tools: [tool('send', undefined, { needsApproval: true }), tool('look')],
    script: [{ calls: [{ tool: 'send', input: {}, callId: 'call-1' }] }, { text: 'sent' }],
  })
  const agent = `/v1/agents/${server.fixture.agent.id}`
  const lines = async (organization = '') =>
    (await server.as()('GET', `/v1/audit?order=asc&limit=1000${organization}`)).body as Line[]
  const database = () => new DatabaseSync(join(server.fixture.home, 'holdfast.db'))
  const chainFaults = async () =>
    (await checkStore(server.fixture.context)).violations.filter(({ invariant }) => invariant === 'I35')
  return { ...server, agent, lines, database, chainFaults }
}

test('policies, secrets, exports, tool runs by hand, resets and verdicts are in the audit log, without values', async (context) => {
  const { as, agent, lines, fixture, chainFaults } = await serveAudited(context)
  const { id } = fixture.agent
  const run = await fixture.ask('send it')
  const verdicts = { approvals: [{ tool_call_id: 'call-1', verdict: 'deny' }] }
  const deeds: [method: string, path: string, body: unknown, status?: number][] = [
    ['PATCH', `${agent}/tools/approval/send`, { requires_approval: false }],
    ['PATCH', agent, { command_approval: 'never' }],
    ['PATCH', agent, { secrets: { TOKEN: 'sk-canary-4711' } }],
    ['PATCH', agent, { system: 'You are a canary.' }],
    ['GET', `${agent}/export`, undefined],
    ['POST', `${agent}/tools/look/run`, { args: { canary: 'sk-canary-4711' } }],
    ['POST', `/v1/approvals/${run.id}`, verdicts],
    ['POST', `/v1/approvals/${run.id}`, { approvals: [{ tool_call_id: 'call-1', verdict: 'approve' }] }, 409],
    ['PATCH', `${agent}/reset-messages`, {}],
    ['POST', '/v1/tools', { source_code: 'def canary():\n    """Sings."""\n    return 1\n' }],
    ['DELETE', agent, undefined],
  ]
  for (const [method, path, body, expected = 200] of deeds) {
    const { status, body: answer } = await as()(method, path, body)
    assert.equal(status, expected, `${method} ${path}: ${JSON.stringify(answer)}`)
  }
  const written = await lines()
  assert.deepEqual(
    written.map(({ verb, object, detail, outcome, status }) => [verb, object, detail, outcome, status]),
    [
      ['PATCH /v1/agents/:agent_id/tools/approval/:tool_name', id, 'send', 'done', null],
      ['PATCH /v1/agents/:agent_id', id, 'command_approval', 'done', null],
      ['PATCH /v1/agents/:agent_id', id, 'secrets', 'done', null],
      ['PATCH /v1/agents/:agent_id', id, 'system', 'done', null],
      ['GET /v1/agents/:agent_id/export', id, null, 'started', null],
      ['POST /v1/agents/:agent_id/tools/:tool_name/run', id, 'look', 'started', null],
      ['approval.answer', run.id, 'call-1 denied', 'done', null],
      ['POST /v1/approvals/:run_id', run.id, 'approvals', 'failed', 409],
      ['PATCH /v1/agents/:agent_id/reset-messages', id, written[8]!.detail, 'done', null],
      ['POST /v1/tools', null, 'source_code', 'done', null],
      ['agent.delete', id, null, 'done', null],
    ],
  )
  assert.deepEqual(
    written.map(({ sequence }) => sequence),
    written.map((_, index) => index + 1),
  )
  assert.equal(JSON.stringify(written).includes('canary'), false)
  assert.deepEqual(await chainFaults(), [])
})

test('a verdict on a client route has its entry, and a stream that is left has it too', async (context) => {
  const { as, agent, lines, fixture } = await serveAudited(context)
  const run = await fixture.ask('send it')
  const messages = [{ type: 'approval', approvals: [{ type: 'approval', tool_call_id: 'call-1', approve: true }] }]
  assert.equal((await as()('POST', `${agent}/messages`, { messages })).status, 200)
  assert.deepEqual(
    (await lines()).map(({ verb, object, detail, outcome }) => [verb, object, detail, outcome]),
    [['approval.answer', run.id, 'call-1 approved', 'done']],
  )
})

test('what cannot be written to the audit log does not happen', async (context) => {
  const { as, agent, fixture, database, makeKey } = await serveAudited(context)
  const run = await fixture.ask('send it')
  const db = database()
  db.exec('alter table audit_heads rename to audit_heads_gone')
  const before = JSON.stringify(
    await fixture.context.deps.store.agents.get(fixture.agent.organizationId, fixture.agent.id),
  )
  const deeds: [string, string, unknown?][] = [
    ['PATCH', agent, { system: 'changed' }],
    ['PATCH', `${agent}/tools/approval/send`, { requires_approval: false }],
    ['DELETE', agent],
    ['GET', `${agent}/export`],
    ['POST', `${agent}/tools/look/run`, { args: {} }],
    ['POST', '/v1/keys', { name: 'k', scope: 'read' }],
    ['POST', `/v1/approvals/${run.id}`, { approvals: [{ tool_call_id: 'call-1', verdict: 'approve' }] }],
  ]
  for (const [method, path, body] of deeds) {
    const { status } = await as()(method, path, body)
    assert.ok(status >= 500, `${method} ${path}: ${status}`)
  }
  db.exec('alter table audit_heads_gone rename to audit_heads')
  db.close()
  const after = await fixture.context.deps.store.agents.get(fixture.agent.organizationId, fixture.agent.id)
  assert.equal(JSON.stringify(after), before)
  assert.equal((await fixture.get(run.id)).waiting, true)
  assert.deepEqual((await as()('GET', '/v1/keys')).body, [])
  fixture.faults.length = 0
  assert.ok((await makeKey({ scope: 'read' })).id)
})

const TAMPERING: Record<string, string> = {
  'an entry was changed': `update audit_log set actor = 'key-nobody' where sequence = 2`,
  'an entry was removed': 'delete from audit_log where sequence = 2',
  'the last entry was removed': 'delete from audit_log where sequence = 4',
  'the record of the end was removed': 'delete from audit_heads',
  'an entry was changed with its own hash': `update audit_log set verb = 'other', hash = 'f00' where sequence = 3`,
  'all of it was removed': 'delete from audit_log',
}

for (const [what, change] of Object.entries(TAMPERING))
  test(`doctor sees that ${what}`, async (context) => {
    const { makeKey, database, chainFaults } = await serveAudited(context)
    for (let index = 0; index < 4; index++) await makeKey({ scope: 'read' })
    assert.deepEqual(await chainFaults(), [])
    const db = database()
    db.exec(change)
    db.close()
    assert.notDeepEqual(await chainFaults(), [])
  })

test('a flood of one tenant or stranger silences no other, and what was left out is counted', async (context) => {
  const { as, makeKey, makeOrganization, lines, chainFaults } = await serveAudited(context)
  const [loud, quiet] = [await makeOrganization('loud'), await makeOrganization('quiet')]
  const [flooder, victim] = await Promise.all(
    [loud, quiet].map((organization_id) => makeKey({ scope: 'agent', organization_id })),
  )
  for (let index = 0; index < 30; index++) await as('nobody-at-all')('GET', '/v1/agents')
  await Promise.all(Array.from({ length: 200 }, () => as(flooder!.key)('GET', '/v1/keys')))
  assert.equal((await as(victim!.key)('GET', '/v1/keys')).status, 403)
  const refusals = async (organization: string) =>
    (await lines(`&organization_id=${organization}`)).filter(({ outcome }) => outcome === 'refused')
  const until = Date.now() + 20_000
  while ((await refusals(quiet!)).length === 0 && Date.now() < until);
  assert.equal((await refusals(quiet!)).length, 1)
  const kept = (await refusals(loud!)).length
  assert.ok(kept >= 100 && kept < 150, `${kept} refusals of the flood`)
  let next: Line | undefined
  while (!next && Date.now() < until) {
    await as(flooder!.key)('GET', '/v1/keys')
    next = (await refusals(loud!)).find(({ detail }) => /after \d+ like it/.test(detail ?? ''))
  }
  assert.ok(next)
  assert.deepEqual(await chainFaults(), [])
})
