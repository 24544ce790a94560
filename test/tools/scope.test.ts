import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serveApp } from '../workspaces/fixture-served-app.ts'

const SOURCE = 'def pay():\n    """Pays."""\n    return "paid"\n'

test('bringing and changing source needs the right `tools`, which talking to agents does not include', async (context) => {
  const { client, ask } = await serveApp(context)
  const { body } = await ask('GET', '/v1/agents')
  assert.ok(body)
  const keyOf = async (scope: string): Promise<string> =>
    ((await ask('POST', '/v1/keys', { body: { name: scope, scope } })).body as { key: string }).key
  const scopes = ['read', 'agent', 'agent approve', 'tools', 'agent tools', 'agent approve tools', 'admin']
  const keys = Object.fromEntries(await Promise.all(scopes.map(async (scope) => [scope, await keyOf(scope)] as const)))
  const { id } = await client.tools.upsert({ source_code: SOURCE })
  const agent = await client.agents.create({ model: 'puppet/any', include_base_tools: false })
  for (const scope of scopes) {
    const key = keys[scope]!
    const mayBring = /tools|admin/.test(scope)
    const mayTalk = /agent|admin/.test(scope)
    const attempts: [string, string, unknown, boolean][] = [
      ['PUT', '/v1/tools', { source_code: SOURCE }, mayBring],
      ['PATCH', `/v1/tools/${id}`, { source_code: SOURCE }, mayBring],
      ['PATCH', `/v1/agents/${agent.id}/tools/attach/${id}`, undefined, mayTalk],
      ['PATCH', `/v1/agents/${agent.id}`, { egress: [`${scope.replaceAll(' ', '-')}.example`] }, mayTalk && mayBring],
      ['PATCH', `/v1/agents/${agent.id}`, { egress: [] }, mayTalk],
    ]
    for (const [method, path, sent, isAllowed] of attempts) {
      const { status, body: answer } = await ask(method, path, { body: sent ?? {}, key })
      assert.equal(status, isAllowed ? 200 : 403, `${scope}: ${method} ${path} ${JSON.stringify(answer)}`)
    }
  }
  const refused = await ask('POST', '/v1/tools', { body: { source_code: SOURCE }, key: keys.agent! })
  assert.match((refused.body as { detail: string }).detail, /has the scope "agent"; POST \/v1\/tools needs "tools"/)
})

test('an import brings new source only with that right', async (context) => {
  const { client, ask } = await serveApp(context)
  const { key } = (await ask('POST', '/v1/keys', { body: { name: 'a', scope: 'agent' } })).body as {
    key: string
  }
  const { id } = await client.tools.upsert({ source_code: SOURCE })
  const agent = await client.agents.create({ model: 'puppet/any', include_base_tools: false, tool_ids: [id] })
  const exported = JSON.stringify((await ask('GET', `/v1/agents/${agent.id}/export`)).body)
  const importing = client.withOptions({ apiKey: key })
  const send = (text: string) =>
    importing.agents.importFile({ file: new File([text], 'agent.af'), override_existing_tools: true })
  assert.equal((await send(exported)).agent_ids.length, 1)
  const refused = await send(exported.replaceAll('paid', 'stolen')).catch((fault) => fault)
  assert.equal(refused.status, 403)
  assert.match(String(refused.message), /importing the source of the tool pay needs/)
  assert.match((await client.tools.retrieve(id)).source_code ?? '', /paid/)
})
