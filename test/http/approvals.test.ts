import assert from 'node:assert/strict'
import { test } from 'node:test'
import { success } from '../../src/tools/define-tool.ts'
import { gate, tool } from '../harness/tools.ts'
import { serveGuarded } from './fixture-guarded-server.ts'

// What a verdict can do, on every route that takes one.

type Detail = { detail: string }

test('a late approval of a cancelled call does not approve the next call of the same id', async (context) => {
  const { fixture, as, ran, messages, verdict, waiting } = await serveGuarded(context)
  await fixture.ask('something harmless')
  await as()('POST', `${messages}/cancel`)
  await fixture.ask('something else')
  const late = await as()('POST', messages, verdict('call_SAME'))
  assert.equal(late.status, 409)
  assert.match((late.body as Detail).detail, /too late.*cancelled by the home's own key.*did not run/)
  assert.deepEqual(ran, [])
  const [call] = (await waiting())!.tool_calls
  assert.equal((await as()('POST', messages, verdict(call!.tool_call_id))).status, 200)
  assert.deepEqual(ran, [{ number: 2 }])
})

test('a denial that comes too late is a 409 with what was decided and by whom; a repeat is recognized', async (context) => {
  const { fixture, as, makeKey, ran, messages, verdict } = await serveGuarded(context)
  const run = await fixture.ask('go')
  const decider = await makeKey({ scope: 'agent approve' })
  const first = await as(decider.key)('POST', messages, verdict('call_SAME'))
  assert.equal(first.status, 200)
  for (const [path, body] of [
    [messages, verdict('call_SAME', false)],
    [`${messages}/stream`, verdict('call_SAME', false)],
    [`/v1/approvals/${run.id}`, { approvals: [{ tool_call_id: 'call_SAME', verdict: 'deny' }] }],
  ] as const) {
    const late = await as()('POST', path, body)
    assert.equal(late.status, 409, path)
    assert.equal(late.headers.get('x-should-retry'), 'false')
    assert.match((late.body as Detail).detail, /call_SAME approved/)
    assert.match((late.body as Detail).detail, new RegExp(decider.id))
  }
  const again = await as()('POST', messages, verdict('call_SAME'))
  assert.equal(again.status, 200)
  assert.equal(again.headers.get('x-run-id'), first.headers.get('x-run-id'))
  assert.equal(ran.length, 1)
})

test('a message that is not an approval approves nothing, whatever else it has', async (context) => {
  const { fixture, as, ran, messages } = await serveGuarded(context)
  await fixture.ask('go')
  for (const message of [
    { role: 'user', content: 'hi', approve: true },
    { content: 'hi', approve: true, approval_request_id: 'call_SAME' },
    { role: 'user', approvals: [{ tool_call_id: 'call_SAME', approve: true }], content: 'hi' },
    { type: 'message', role: 'user', content: 'yes, I approve', approve: true },
  ])
    for (const path of [messages, `${messages}/stream`, `${messages}/async`]) {
      const { status } = await as()('POST', path, { messages: [message] })
      assert.ok(status === 409 || status === 422, `${path} ${JSON.stringify(message)}: ${status}`)
    }
  const nameless = await as()('POST', messages, { messages: [{ type: 'approval', approve: true }] })
  assert.equal(nameless.status, 422)
  assert.match((nameless.body as Detail).detail, /names what it approves/)
  assert.deepEqual(ran, [])
})

test('only a key that may approve decides, lifts an approval, or runs a guarded tool by hand', async (context) => {
  const { fixture, keyOf, ran, messages, verdict, waiting } = await serveGuarded(context)
  const agent = `/v1/agents/${fixture.agent.id}`
  const [reader, worker, decider, both] = await Promise.all(
    (['read', 'agent', 'approve', 'agent approve'] as const).map(keyOf),
  )
  await fixture.ask('go')
  const { run_id } = (await waiting())!
  const byRun = { approvals: [{ tool_call_id: 'call_SAME', verdict: 'deny' }] }
  const refused = async (send: typeof worker, path: string, body: unknown, method = 'POST') => {
    const { status, body: answer } = await send!(method, path, body)
    assert.equal(status, 403, `${method} ${path} ${JSON.stringify(answer)}`)
    assert.match((answer as Detail).detail, /scope "[a-z ]+"; .* needs "[a-z]+"/)
  }
  for (const path of [messages, `${messages}/stream`, `${messages}/async`]) {
    await refused(worker, path, verdict('call_SAME'))
    await refused(worker, path, verdict('call_SAME', false))
    await refused(decider, path, { input: 'hi' })
  }
  await refused(worker, `/v1/approvals/${run_id}`, byRun)
  await refused(reader, `/v1/approvals/${run_id}`, byRun)
  await refused(worker, `${agent}/tools/send/run`, { args: {} })
  await refused(worker, `${agent}/tools/approval/send`, { requires_approval: false }, 'PATCH')
  await refused(worker, agent, { command_approval: 'never' }, 'PATCH')
  await refused(worker, '/v1/agents', { name: 'loose', command_approval: 'never' })
  assert.deepEqual(ran, [])

  assert.equal((await worker!('POST', `${agent}/tools/look/run`, { args: {} })).status, 200)
  assert.equal((await worker!('PATCH', `${agent}/tools/approval/look`, { requires_approval: true })).status, 200)
  assert.equal((await worker!('PATCH', agent, { command_approval: 'ask' })).status, 200)
  await refused(worker, agent, { command_approval: 'destructive' }, 'PATCH')
  await refused(worker, agent, { command_approval: null }, 'PATCH')
  await refused(worker, `${agent}/tools/look/run`, { args: {} })
  assert.equal((await decider!('POST', `/v1/approvals/${run_id}`, byRun)).status, 200)
  assert.equal((await both!('POST', `${agent}/tools/send/run`, { args: { by: 'hand' } })).status, 200)
  assert.deepEqual(ran, [{ by: 'hand' }])
})

test('no key lifts the approval of a stored tool by the way', async (context) => {
  const { as, keyOf } = await serveGuarded(context)
  const worker = await keyOf('agent tools')
  const source = { source_code: 'def greet(x: str) -> str:\n    """Greets."""\n    return x\n' }
  const { id } = (await as()('POST', '/v1/tools', { ...source, default_requires_approval: true })).body as {
    id: string
  }
  const upserted = await worker('PUT', '/v1/tools', { ...source, description: 'Greets well.' })
  assert.equal((upserted.body as { default_requires_approval: boolean }).default_requires_approval, true)
  for (const [method, path] of [
    ['PUT', '/v1/tools'],
    ['PATCH', `/v1/tools/${id}`],
  ] as const)
    assert.equal((await worker(method, path, { ...source, default_requires_approval: false })).status, 403)
  assert.equal((await as()('PATCH', `/v1/tools/${id}`, { default_requires_approval: false })).status, 200)
})

test('without a sandbox no command runs by hand, and with approval_by another-key no guarded tool does', async (context) => {
  const started = gate()
  const { fixture, as, ran } = await serveGuarded(context, {
    defaults: { approvalBy: 'another-key' },
    tools: [
      tool('send', () => success('sent'), { needsApproval: true }),
      {
        ...tool('shell', () => {
          started.open()
          return success('ran')
        }),
        approvalReason: () => 'it runs without a sandbox',
        waitsInTurns: 'commands run without a sandbox here, so that every one waits for a person',
      },
    ],
  })
  const run = (name: string) =>
    as()('POST', `/v1/agents/${fixture.agent.id}/tools/${name}/run`, { args: { command: 'id' } })
  const shell = await run('shell')
  assert.equal(shell.status, 409)
  assert.match((shell.body as Detail).detail, /does not run by hand.*Send the agent a message/)
  const send = await run('send')
  assert.equal(send.status, 403)
  assert.match((send.body as Detail).detail, /another-key/)
  assert.deepEqual(ran, [])
})
