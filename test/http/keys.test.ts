import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { realClock as clock } from '../../src/config/real-clock.ts'
import { realRandomness as randomness } from '../../src/config/real-randomness.ts'
import { DEFAULT_ORGANIZATION, type OrganizationId } from '../../src/core/id.ts'
import type { KeyId } from '../../src/core/people.ts'
import { openSqliteStore } from '../../src/storage/sqlite.ts'
import { gate, tool } from '../harness/tools.ts'
import { requestOf, type SendHttp, serveKeyed } from './fixture-keyed-server.ts'

const SAYS = [{ text: 'Hello there.' }]

test('a key is shown once, and its stored digest does not authenticate', async (context) => {
  const { as, makeKey, fixture, log } = await serveKeyed(context)
  const made = await makeKey({ scope: 'agent' })
  assert.match(made.key, /^hfk-[0-9a-f]{12}-[0-9a-f]{64}$/)
  assert.equal(made.prefix, made.key.slice(0, 16))
  const { body: listed } = await as()('GET', '/v1/keys')
  assert.equal(JSON.stringify(listed).includes(made.key), false)
  assert.deepEqual(
    (listed as { id: string }[]).map(({ id }) => id),
    [made.id],
  )

  assert.equal((await as(made.key)('GET', '/v1/agents')).status, 200)
  for (const wrong of [made.prefix, `${made.prefix}-${'0'.repeat(64)}`, made.key.slice(0, -1), `${made.key}0`, ''])
    assert.equal((await as(wrong)('GET', '/v1/agents')).status, 401, wrong)
  const kept = await fixture.context.deps.store.keys.byPrefix(made.prefix)
  assert.equal((await as(kept!.digest)('GET', '/v1/agents')).status, 401)

  const files = ['holdfast.db', 'holdfast.db-wal', 'chunks.db'].map((name) => join(fixture.home, name))
  for (const file of files) assert.equal(readFileSync(file).includes(made.key.slice(17)), false, file)
  await as(made.key)('GET', `/v1/agents?name=${made.key}`)
  assert.ok(log.some((line) => line.includes(made.id)))
  assert.equal(log.join('\n').includes(made.key.slice(17)), false)
})

test('a key can do exactly what its scope allows', async (context) => {
  const { as, makeKey, fixture } = await serveKeyed(context, { script: SAYS })
  const [reader, worker, admin] = await Promise.all(
    (['read', 'agent', 'admin'] as const).map(async (scope) => as((await makeKey({ scope })).key)),
  )
  const agent = `/v1/agents/${fixture.agent.id}`
  const hello = { input: 'hi' }
  const run = await fixture.ask('hello')
  const table = [
    ['GET', '/v1/agents', undefined, 'read'],
    ['GET', agent, undefined, 'read'],
    ['POST', `/v1/runs/${run.id}/stream`, {}, 'read'],
    ['POST', `${agent}/messages`, hello, 'agent'],
    ['POST', '/v1/blocks', { label: 'l', value: 'v', scopes: ['admin'], scope: 'admin' }, 'agent'],
    ['PATCH', agent, { name: 'else' }, 'agent'],
    ['GET', '/v1/keys', undefined, 'admin'],
    ['POST', '/v1/keys', { name: 'more', scope: 'read' }, 'admin'],
    ['POST', '/v1/users', { name: 'Bo' }, 'admin'],
    ['GET', '/v1/audit', undefined, 'admin'],
    ['GET', '/metrics', undefined, 'admin'],
    ['POST', '/v1/organizations', { name: 'other' }, 'admin'],
  ] as const
  const ranks = ['read', 'agent', 'admin']
  for (const [method, path, body, needed] of table)
    for (const [rank, ask] of [reader!, worker!, admin!].entries()) {
      const { status, body: answer } = await ask(method, path, body)
      const isAllowed = rank >= ranks.indexOf(needed)
      assert.equal(status, isAllowed ? 200 : 403, `${ranks[rank]}: ${method} ${path} ${JSON.stringify(answer)}`)
      if (!isAllowed) assert.match((answer as { detail: string }).detail, /scope "|administrators/)
    }
  assert.deepEqual(fixture.faults, [])
})

test('resources of one organization look missing to another', async (context) => {
  const { as, makeKey, makeOrganization, fixture } = await serveKeyed(context, {
    script: [{ calls: [{ tool: 'note', input: {} }] }, { text: 'done' }],
    tools: [tool('note')],
  })
  const ours = as()
  const other = await makeOrganization('other')
  const theirs = as((await makeKey({ scope: 'admin', organization_id: other })).key)
  const must = async <T>(answer: ReturnType<typeof ours>): Promise<T> => {
    const { status, body } = await answer
    assert.equal(status, 200, JSON.stringify(body))
    return body as T
  }
  const agent = fixture.agent.id
  const block = await must<{ id: string }>(ours('POST', '/v1/blocks', { label: 'secret', value: 'ours' }))
  await must(ours('PATCH', `/v1/agents/${agent}/core-memory/blocks/attach/${block.id}`))
  const source = { source_code: 'def ours():\n    """Ours."""\n    return 1\n' }
  const ourTool = await must<{ id: string }>(ours('POST', '/v1/tools', source))
  const [passage] = await must<{ id: string }[]>(ours('POST', `/v1/agents/${agent}/archival-memory`, { text: 'ours' }))
  const run = await fixture.ask('hello')
  const [step] = await must<{ id: string }[]>(ours('GET', `/v1/runs/${run.id}/steps`))
  const [message] = await must<{ id: string }[]>(ours('GET', `/v1/agents/${agent}/messages`))
  const user = await must<{ id: string }>(ours('POST', '/v1/users', { name: 'Bo' }))
  const key = await makeKey({ scope: 'read' })
  const theirAgent = await must<{ id: string }>(theirs('POST', '/v1/agents', { name: 'spy', model: 'test/model' }))
  const conversation = fixture.conversationId

  const missing: [string, string, unknown?][] = [
    ['GET', `/v1/agents/${agent}`],
    ['PATCH', `/v1/agents/${agent}`, { name: 'theirs' }],
    ['DELETE', `/v1/agents/${agent}`],
    ['GET', `/v1/agents/${agent}/messages`],
    ['POST', `/v1/agents/${agent}/messages`, { input: 'hi' }],
    ['POST', `/v1/agents/${agent}/messages/stream`, { input: 'hi' }],
    ['POST', `/v1/agents/${agent}/messages/async`, { input: 'hi' }],
    ['POST', `/v1/agents/${agent}/messages/cancel`, {}],
    ['POST', `/v1/agents/${theirAgent.id}/messages/cancel`, { run_ids: [run.id] }],
    ['PATCH', `/v1/agents/${agent}/reset-messages`, {}],
    ['POST', `/v1/agents/${agent}/summarize`, {}],
    ['GET', `/v1/agents/${agent}/context`],
    ['GET', `/v1/agents/${agent}/core-memory/blocks`],
    ['GET', `/v1/agents/${agent}/core-memory/blocks/secret`],
    ['PATCH', `/v1/agents/${agent}/core-memory/blocks/secret`, { value: 'theirs' }],
    ['PATCH', `/v1/agents/${theirAgent.id}/core-memory/blocks/attach/${block.id}`],
    ['GET', `/v1/agents/${agent}/tools`],
    ['PATCH', `/v1/agents/${theirAgent.id}/tools/attach/${ourTool.id}`],
    ['GET', `/v1/agents/${agent}/archival-memory`],
    ['POST', `/v1/agents/${agent}/archival-memory`, { text: 'theirs' }],
    ['DELETE', `/v1/agents/${agent}/archival-memory/${passage!.id}`],
    ['DELETE', `/v1/agents/${theirAgent.id}/archival-memory/${passage!.id}`],
    ['GET', `/v1/blocks/${block.id}`],
    ['PATCH', `/v1/blocks/${block.id}`, { value: 'theirs' }],
    ['DELETE', `/v1/blocks/${block.id}`],
    ['GET', `/v1/blocks/${block.id}/agents`],
    ['GET', `/v1/tools/${ourTool.id}`],
    ['PATCH', `/v1/tools/${ourTool.id}`, { description: 'theirs' }],
    ['DELETE', `/v1/tools/${ourTool.id}`],
    ['GET', `/v1/runs/${run.id}`],
    ['DELETE', `/v1/runs/${run.id}`],
    ['GET', `/v1/runs/${run.id}/messages`],
    ['GET', `/v1/runs/${run.id}/steps`],
    ['GET', `/v1/runs/${run.id}/usage`],
    ['GET', `/v1/runs/${run.id}/attempts`],
    ['POST', `/v1/runs/${run.id}/stream`, {}],
    ['GET', `/v1/runs?after=${run.id}`],
    ['GET', `/v1/agents?after=${agent}`],
    ['GET', `/v1/blocks?after=${block.id}`],
    ['GET', `/v1/steps/${step!.id}`],
    ['GET', `/v1/steps?after=${step!.id}`],
    ['GET', `/v1/messages/${message!.id}`],
    ['GET', `/v1/agents/${theirAgent.id}/messages?after=${message!.id}`],
    ['GET', `/v1/agents/${theirAgent.id}/messages?conversation_id=${conversation}`],
    ['GET', `/v1/conversations/${conversation}`],
    ['PATCH', `/v1/conversations/${conversation}`, { summary: 'theirs' }],
    ['DELETE', `/v1/conversations/${conversation}`],
    ['GET', `/v1/conversations/${conversation}/messages`],
    ['POST', `/v1/conversations/${conversation}/messages`, { input: 'hi' }],
    ['POST', `/v1/conversations/${conversation}/stream`, {}],
    ['POST', `/v1/conversations/${conversation}/cancel`, {}],
    ['POST', `/v1/conversations/${conversation}/compact`, {}],
    ['POST', `/v1/conversations/${conversation}/fork`, {}],
    ['POST', `/v1/conversations?agent_id=${agent}`, {}],
    ['GET', `/v1/workspaces/${conversation}`],
    ['DELETE', `/v1/workspaces/${conversation}`],
    ['GET', `/v1/workspaces/${conversation}/processes/process-1`],
    ['DELETE', `/v1/workspaces/${conversation}/processes/process-1`],
    ['GET', `/v1/keys/${key.id}`],
    ['GET', `/v1/keys/${key.id}?organization_id=${DEFAULT_ORGANIZATION}`],
    ['DELETE', `/v1/keys/${key.id}`],
    ['DELETE', `/v1/keys/${key.id}?organization_id=${DEFAULT_ORGANIZATION}`],
    ['POST', '/v1/keys', { name: 'k', scope: 'read', organization_id: DEFAULT_ORGANIZATION }],
    ['POST', '/v1/keys', { name: 'k', scope: 'read', user_id: user.id }],
    ['DELETE', `/v1/users/${user.id}`],
    ['GET', `/v1/audit?organization_id=${DEFAULT_ORGANIZATION}`],
  ]
  for (const [method, path, body] of missing) {
    const { status, body: answer } = await theirs(method, path, body)
    assert.equal(status, 404, `${method} ${path}: ${JSON.stringify(answer)}`)
    assert.notDeepEqual(answer, { detail: 'Not Found' }, `${method} ${path} has no route`)
  }
  const ids: Record<string, string> = {
    agent_id: agent,
    block_id: block.id,
    tool_id: ourTool.id,
    memory_id: passage!.id,
    run_id: run.id,
    step_id: step!.id,
    message_id: message!.id,
    conversation_id: conversation,
    key_id: key.id,
    user_id: user.id,
    block_label: 'secret',
    label: 'secret',
    tool_name: 'ours',
    process_id: 'process-1',
    page_id: 'page-1',
    scheduled_message_id: `schedule-${randomUUID()}`,
    schedule_id: `schedule-${randomUUID()}`,
    import_id: `import-${randomUUID()}`,
    account: 'bot',
    sender_id: '1',
    organization_id: DEFAULT_ORGANIZATION,
    response_id: `resp_${run.id.slice('run-'.length)}`,
    item_id: `msg_${message!.id.slice('message-'.length)}`,
    model: agent,
    version: '1',
    number: '999999999',
    hook_id: `hook-${randomUUID()}`,
    webhook_id: `webhook-${randomUUID()}`,
  }
  const { paths } = await must<{ paths: Record<string, object> }>(ours('GET', '/openapi.json'))
  for (const [path, methods] of Object.entries(paths)) {
    // This fixture does not connect to MCP servers, and files of the console need no key.
    if (!path.includes('{') || path.startsWith('/v1/mcp-servers') || path.startsWith('/console')) continue
    const named = path.replaceAll(
      /\{(\w+)\}/g,
      (_, name: string) => ids[name] ?? assert.fail(`${path}: who is ${name}?`),
    )
    for (const method of Object.keys(methods).map((name) => name.toUpperCase())) {
      const { status } = await theirs(method, named, method === 'GET' ? undefined : {})
      assert.ok(status >= 400 && status < 500, `${method} ${path}: ${status}`)
    }
  }
  const listed = async (path: string) => (await must<{ id: string }[]>(theirs('GET', path))).map(({ id }) => id)
  assert.deepEqual(await listed('/v1/agents'), [theirAgent.id])
  for (const path of ['/v1/runs', `/v1/runs?agent_id=${agent}`, `/v1/runs?conversation_id=${conversation}`])
    assert.deepEqual(await listed(path), [], path)
  assert.deepEqual(await listed('/v1/steps'), [])
  assert.equal((await listed('/v1/blocks')).includes(block.id), false)
  assert.equal((await listed('/v1/tools')).includes(ourTool.id), false)
  assert.deepEqual(await listed('/v1/users'), [])
  assert.deepEqual(await listed('/v1/organizations'), [other])
  assert.equal((await theirs('POST', '/v1/organizations', { name: 'third' })).status, 403)
  assert.equal((await theirs('GET', '/metrics')).status, 403)
  const borrowed = await theirs('POST', '/v1/agents', { name: 'x', model: 'test/model', block_ids: [block.id] })
  assert.equal(borrowed.status, 404, JSON.stringify(borrowed.body))

  assert.equal((await must<{ value: string }>(ours('GET', `/v1/blocks/${block.id}`))).value, 'ours')
  assert.equal((await must<{ name: string }>(ours('GET', `/v1/agents/${agent}`))).name, 'keeper')
  assert.equal((await as(key.key)('GET', '/v1/agents')).status, 200)
})

test('an agent of another organization uses the models of the server', async (context) => {
  const { url, makeKey, makeOrganization } = await serveKeyed(context, { script: SAYS })
  const organization_id = await makeOrganization('other')
  const { key } = await makeKey({ scope: 'agent', organization_id })
  const client = new Letta({ baseURL: url, apiKey: key, maxRetries: 0 })
  const agent = await client.agents.create({ name: 'ada', model: 'test/model' })
  const { messages } = await client.agents.messages.create(agent.id, { input: 'hi' })
  assert.equal((messages.at(-1) as { content: string }).content, 'Hello there.')
  assert.ok((await client.models.list()).length > 0)
})

test('a revoked key is refused, and its open requests end within a second', async (context) => {
  const stuck = gate()
  context.after(() => stuck.open())
  const { url, as, makeKey, fixture } = await serveKeyed(context, {
    script: [{ calls: [{ tool: 'wait', input: {} }] }, { text: 'done' }],
    tools: [tool('wait', () => stuck.promise.then(() => ({ type: 'success', text: 'done' })) as never)],
  })
  const revokers = {
    'over HTTP': (id: string) => as()('DELETE', `/v1/keys/${id}`),
    'by another process': async (id: string) => {
      const { store, chunks } = await openSqliteStore({
        home: fixture.home,
        clock,
        durability: 'relaxed',
        role: 'guest',
      })
      await store.keys.revoke(DEFAULT_ORGANIZATION, id as KeyId, {
        id: `audit-${randomness.uuid()}`,
        at: clock.now(),
        organizationId: DEFAULT_ORGANIZATION as OrganizationId,
        actor: 'command-line',
        verb: 'key.revoke',
        outcome: 'done',
      })
      await chunks.close()
      await store.close()
    },
  }
  for (const [how, revoke] of Object.entries(revokers)) {
    const { id, key } = await makeKey({ scope: 'agent' })
    const agent = (await as()('POST', '/v1/agents', { name: how, model: 'test/model', tools: ['wait'] })).body as {
      id: string
    }
    const path = `${url}/v1/agents/${agent.id}/messages`
    const stream = await fetch(`${path}/stream`, { method: 'POST', ...requestOf(key, { input: 'hi' }) })
    assert.equal(stream.status, 200)
    const reader = stream.body!.getReader()
    await reader.read()
    const waiting = fetch(path, { method: 'POST', ...requestOf(key, { input: 'hi' }) })
    const queued = async () =>
      ((await as()('GET', `/v1/runs?agent_id=${agent.id}`)).body as unknown[]).length === 2 || undefined
    while (!(await queued())) await clock.sleep(10, new AbortController().signal)

    const streamEnd = (async () => {
      while (!(await reader.read()).done);
    })()
    await revoke(id)
    const at = Date.now()
    await assert.rejects(streamEnd)
    const answer = await waiting
    assert.equal(answer.status, 401)
    assert.match(((await answer.json()) as { detail: string }).detail, /revoked/)
    assert.ok(Date.now() - at < 1500, `${how}: ended ${Date.now() - at} ms after the revocation`)
    const refused = await as(key)('GET', '/v1/agents')
    assert.deepEqual(
      [refused.status, (refused.body as { detail: string }).detail],
      [401, 'Unauthorized: this key was revoked.'],
    )
    const runs = (await as()('GET', `/v1/runs?agent_id=${agent.id}&active=true`)).body as unknown[]
    assert.equal(runs.length, 2, 'the runs continue')
  }
})

test('a key that has expired is refused', async (context) => {
  const { timers } = context.mock
  timers.enable({ apis: ['Date'], now: clock.now() })
  const { as, makeKey } = await serveKeyed(context, { clock: { ...clock, now: () => Date.now() } })
  const expires_at = new Date(Date.now() + 600).toISOString()
  const { key } = await makeKey({ scope: 'read', expires_at })
  assert.equal((await as(key)('GET', '/v1/agents')).status, 200)
  timers.tick(600)
  const { status, body } = await as(key)('GET', '/v1/agents')
  assert.deepEqual([status, body], [401, { detail: 'Unauthorized: this key has expired.' }])
  const past = await as()('POST', '/v1/keys', { name: 'k', scope: 'read', expires_at })
  assert.equal(past.status, 422)
})

test('deleting a user revokes all of its keys', async (context) => {
  const { as, makeKey } = await serveKeyed(context)
  const { body } = await as()('POST', '/v1/users', { name: 'Bo' })
  const user = body as { id: string }
  const key = await makeKey({ scope: 'agent', user_id: user.id })
  assert.equal((await as(key.key)('GET', '/v1/agents')).status, 200)
  assert.equal((await as()('POST', '/v1/users', { name: 'Bo' })).status, 409)
  assert.equal((await as()('DELETE', `/v1/users/${user.id}`)).status, 200)
  assert.equal((await as(key.key)('GET', '/v1/agents')).status, 401)
  assert.deepEqual((await as()('GET', '/v1/users')).body, [])
})

test('the audit log has every action and refusal with its actor, and no secrets', async (context) => {
  const { as, makeKey, fixture } = await serveKeyed(context)
  const worker = await makeKey({ scope: 'agent' })
  const block = (await as(worker.key)('POST', '/v1/blocks', { label: 'l', value: 'what was said' })).body as {
    id: string
  }
  await as(worker.key)('DELETE', `/v1/blocks/${block.id}`)
  await as(worker.key)('DELETE', `/v1/blocks/${block.id}`)
  await as(worker.key)('GET', '/v1/keys')
  await as('not-a-key-at-all')('GET', '/v1/agents')
  await as()('DELETE', `/v1/keys/${worker.id}`)
  await as(worker.key)('GET', '/v1/agents')
  type Line = {
    actor: string
    verb: string
    object: string | null
    outcome: string
    status: number | null
    from: string
  }
  const lines = (await as()('GET', '/v1/audit?order=asc')).body as Line[]
  assert.deepEqual(
    lines.map(({ actor, verb, object, outcome, status }) => [actor, verb, object, outcome, status]),
    [
      ['home', 'key.create', worker.id, 'done', null],
      [worker.id, 'POST /v1/blocks', null, 'done', null],
      [worker.id, 'DELETE /v1/blocks/:block_id', block.id, 'done', null],
      [worker.id, 'DELETE /v1/blocks/:block_id', block.id, 'failed', 404],
      [worker.id, 'GET /v1/keys', null, 'refused', 403],
      ['unknown', 'GET /v1/agents', null, 'refused', 401],
      ['home', 'key.revoke', worker.id, 'done', null],
      [worker.id, 'GET /v1/agents', null, 'refused', 401],
    ],
  )
  assert.ok(lines.every(({ from }) => from === '127.0.0.1'))
  const text = JSON.stringify(lines)
  for (const secret of [worker.key, 'not-a-key-at-all', 'what was said']) assert.equal(text.includes(secret), false)
  assert.deepEqual(fixture.faults, [])
})

test('the audit log names who answered an approval, also if the stream was abandoned', async (context) => {
  const { as, makeKey, fixture, url } = await serveKeyed(context, {
    script: [{ calls: [{ tool: 'send', input: {} }] }, { text: 'sent' }],
    tools: [tool('send', undefined, { needsApproval: true })],
  })
  const worker = await makeKey({ scope: 'agent approve' })
  const path = `${url}/v1/agents/${fixture.agent.id}/messages`
  for (const way of ['', '/stream']) {
    const run = await fixture.ask('send it')
    const events = await fixture.events(run.id)
    const answer = events.find((event) => event.type === 'answer-received')!
    const messages = [
      { type: 'approval', approvals: [{ type: 'approval', tool_call_id: answer.calls[0]!.callId, approve: true }] },
    ]
    const leave = new AbortController()
    const init = { method: 'POST', signal: leave.signal, ...requestOf(worker.key, { messages }) }
    const response = await fetch(`${path}${way}`, init)
    assert.equal(response.status, 200)
    if (way === '') await response.text()
    else leave.abort()
  }
  type Line = { actor: string; verb: string; outcome: string }
  const answers = async () =>
    ((await as()('GET', '/v1/audit')).body as Line[]).filter(({ verb }) => verb === 'approval.answer')
  while ((await answers()).length < 2) await clock.sleep(10, new AbortController().signal)
  for (const { actor, outcome } of await answers()) assert.deepEqual([actor, outcome], [worker.id, 'done'])
})

test('an organization does not lose its last admin key by its own hand; the operator may take it', async (context) => {
  const { as, makeKey, makeOrganization } = await serveKeyed(context)
  const organization_id = await makeOrganization('acme')
  const first = await makeKey({ scope: 'admin', organization_id })
  const revoke = (send: SendHttp, id: string, query = '') => send('DELETE', `/v1/keys/${id}${query}`)
  const refused = await revoke(as(first.key), first.id)
  assert.equal(refused.status, 409)
  assert.match((refused.body as { detail: string }).detail, /is the last admin key of this organization/)
  assert.equal((await as(first.key)('GET', '/v1/keys')).status, 200)
  const second = await makeKey({ scope: 'admin', organization_id })
  assert.equal((await revoke(as(second.key), first.id)).status, 200)
  assert.equal((await revoke(as(second.key), second.id)).status, 409, 'a revoked key does not count')
  assert.equal((await revoke(as(), second.id, `?organization_id=${organization_id}`)).status, 200)
})
