import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Letta } from '@letta-ai/letta-client'
import { waitForRun } from '../../src/service/runs/watch-run.ts'
import { missingProgram } from '../harness/programs.ts'
import { serveApp, workspaceAgent } from './fixture-served-app.ts'

const skip = missingProgram('bwrap')

type Process = { id: string; command: string; ending: { type: string; why?: string; code?: number } | null }
type Wire = {
  conversation_id: string
  agent_id: string
  status: string
  folder?: string
  containment: string
  quota: { disk_bytes: number }
  /** Absent while the workspace sleeps. */
  processes: Process[] | null
}

test('a workspace is created on first use, listed, shown, and removed permanently', {
  skip,
}, async (t) => {
  const { ask, call, client } = await serveApp(t, { HOLDFAST_WORKSPACE_DISK_MB: '64' })
  const [ada, bob] = [await workspaceAgent(client), await workspaceAgent(client)]
  assert.deepEqual((await ask('GET', '/v1/workspaces/')).body, [])
  assert.match(await call(ada.id, 'shell', { command: 'echo hello; pwd' }), /hello\n.*\/workspace/s)
  await call(bob.id, 'write_file', { path: 'notes.txt', content: 'x' })
  const found = await call(bob.id, 'shell', { command: 'printenv PATH; /holdfast/node --version' })
  // The Node of the server is on PATH, whether or not the machine has one.
  assert.match(found, new RegExp(`:/holdfast\n${process.version}\n`))

  const all: Wire[] = (await ask('GET', '/v1/workspaces/')).body
  assert.deepEqual(all.map(({ agent_id }) => agent_id).sort(), [ada.id, bob.id].sort())
  const ids = all.map(({ conversation_id }) => conversation_id)
  const page: Wire[] = (await ask('GET', `/v1/workspaces?limit=1&after=${ids[0]}`)).body
  assert.deepEqual(
    page.map(({ conversation_id }) => conversation_id),
    ids.slice(1),
  )
  const [mine]: Wire[] = (await ask('GET', `/v1/workspaces?agent_id=${ada.id}`)).body
  const path = `/v1/workspaces/${mine!.conversation_id}`
  const shown: Wire = (await ask('GET', path)).body
  assert.equal(shown.status, 'awake')
  assert.equal(shown.quota.disk_bytes, 64 * 1024 * 1024)
  assert.deepEqual(
    shown.processes?.map(({ command, ending }) => [command, ending]),
    [['echo hello; pwd', { type: 'exited', code: 0 }]],
  )
  assert.ok(existsSync(shown.folder!))

  assert.deepEqual(await ask('DELETE', path), { status: 200, body: null })
  assert.ok(!existsSync(shown.folder!))
  assert.equal((await ask('GET', path)).status, 404)
  assert.equal((await ask('DELETE', path)).status, 404)
  assert.equal((await ask('GET', '/v1/workspaces')).status, 200)
  const audit: { verb: string; object: string; outcome: string }[] = (await ask('GET', '/v1/audit')).body
  const attempt = [mine!.conversation_id, 'started']
  assert.deepEqual(
    audit.filter(({ verb }) => verb === 'workspace.remove').map(({ object, outcome }) => [object, outcome]),
    [attempt],
    'what found nothing began nothing',
  )
  assert.match(await call(ada.id, 'shell', { command: 'ls | wc -l' }), /^\D*0\b/, 'the next one is empty')
})

test('the output of a process is read page by page while it runs, and killing it ends its children', {
  skip,
}, async (t) => {
  const { ask, call, client } = await serveApp(t)
  const agent = await workspaceAgent(client)
  await call(agent.id, 'shell', { command: 'seq 1 1000; sleep 1000 & sleep 1000', background: true })
  const [workspace]: Wire[] = (await ask('GET', '/v1/workspaces')).body
  const { id } = workspace!.processes![0]!
  const path = `/v1/workspaces/${workspace!.conversation_id}/processes/${id}`
  type Page = Process & { output: { text: string; next: number; total: number } }
  let output = ''
  for (let from = 0; output.split('\n').length <= 1_000; ) {
    const page: Page = (await ask('GET', `${path}?from=${from}&limit=1000`)).body
    assert.ok(page.output.text.length <= 1_000)
    assert.equal(page.ending, null)
    output += page.output.text
    from = page.output.next
  }
  assert.equal(output, Array.from({ length: 1_000 }, (_, index) => `${index + 1}\n`).join(''))
  const end: Page = (await ask('GET', `${path}?last=5`)).body
  assert.equal(end.output.text, '1000\n')

  const ended: Process = (await ask('DELETE', path)).body
  assert.equal(ended.ending?.type, 'killed')
  assert.equal(ended.ending?.why, 'asked')
  assert.deepEqual((await ask('DELETE', path)).body, ended, 'ending it again changes nothing')
  assert.match(await call(agent.id, 'shell', { command: 'pgrep -c sleep || true' }), /\b0\b/)
  const after: Wire = (await ask('GET', `/v1/workspaces/${workspace!.conversation_id}`)).body
  assert.deepEqual(after.processes?.find((one) => one.id === id)?.ending, ended.ending)
})

test('workspaces of another organization look missing, and each key may do what its scope allows', {
  skip,
}, async (t) => {
  const { ask, call, client } = await serveApp(t)
  const agent = await workspaceAgent(client)
  await call(agent.id, 'shell', { command: 'sleep 1000', background: true })
  const [workspace]: Wire[] = (await ask('GET', '/v1/workspaces')).body
  const path = `/v1/workspaces/${workspace!.conversation_id}`
  const process = `${path}/processes/${workspace!.processes![0]!.id}`
  const keyOf = async (scope: string, organization_id?: string): Promise<string> =>
    ((await ask('POST', '/v1/keys', { body: { name: scope, scope, organization_id } })).body as { key: string }).key
  const { id: elsewhere }: { id: string } = (await ask('POST', '/v1/organizations', { body: { name: 'others' } })).body

  const stranger = await keyOf('admin', elsewhere)
  assert.deepEqual((await ask('GET', '/v1/workspaces', { key: stranger })).body, [])
  for (const [method, where] of [
    ['GET', path],
    ['DELETE', path],
    ['GET', process],
    ['DELETE', process],
  ] as const)
    assert.equal((await ask(method, where, { key: stranger })).status, 404, `${method} ${where}`)

  const reader = await keyOf('read')
  const shown: Wire = (await ask('GET', path, { key: reader })).body
  assert.deepEqual([shown.status, shown.folder], ['awake', undefined], 'only operators see the folder')
  assert.equal((await ask('GET', process, { key: reader })).status, 200)
  assert.equal((await ask('DELETE', process, { key: reader })).status, 403)
  const worker = await keyOf('agent')
  assert.equal((await ask('DELETE', path, { key: worker })).status, 403)
  assert.equal((await ask('DELETE', process, { key: worker })).status, 200)
  assert.equal((await ask('DELETE', path, { key: await keyOf('admin') })).status, 200)
})

test('a deleted conversation and a deleted agent leave nothing running and nothing on disk', { skip }, async (t) => {
  const { ask, call, client, app } = await serveApp(t)
  const agent = await workspaceAgent(client)
  await call(agent.id, 'shell', { command: 'sleep 1000', background: true })
  const other = await client.conversations.create({ agent_id: agent.id })
  const say = JSON.stringify({ tool: 'shell', input: { command: 'sleep 1000', timeout_seconds: 600 } })
  const running = client.conversations.messages.create(other.id, { input: say, background: true }).catch(() => {})
  const [first, second] = await until(async () => {
    const all: Wire[] = (await ask('GET', '/v1/workspaces')).body
    const here = all.find(({ conversation_id }) => conversation_id === other.id)
    return here?.processes?.length ? [all.find((one) => one !== here)!, here] : undefined
  })

  assert.equal((await ask('DELETE', `/v1/conversations/${other.id}`)).status, 200)
  await running
  assert.ok(!existsSync(second.folder!), 'with the conversation')
  assert.ok(existsSync(first.folder!), 'and no other')

  const { id: runId } = await client.agents.messages.createAsync(agent.id, { input: say })
  await until(async () => {
    const { processes }: Wire = (await ask('GET', `/v1/workspaces/${first.conversation_id}`)).body
    return processes?.length === 2 ? true : undefined
  })
  assert.equal((await ask('DELETE', `/v1/agents/${agent.id}`)).status, 200)
  assert.ok(!existsSync(first.folder!), 'with the agent, in the middle of a turn')
  assert.deepEqual(await app.context.workspaces?.list(), [])
  assert.equal(app.context.engine?.dispatcher.isRunning(runId as `run-${string}`), false, 'which was heard out first')
  assert.equal(app.context.deps.historyCache?.state().entries, 0)
})

test('a reset conversation has no processes any more, and keeps its files', { skip }, async (t) => {
  const { ask, call, client } = await serveApp(t)
  const agent = await workspaceAgent(client)
  await call(agent.id, 'shell', { command: 'echo kept > kept.txt; sleep 1000', background: true })
  const look = async (): Promise<Wire> => ((await ask('GET', '/v1/workspaces')).body as Wire[])[0]!
  await until(async () => ((await look()).processes?.[0]?.ending === null ? true : undefined))
  await client.agents.messages.reset(agent.id, {})
  const { processes, folder } = await look()
  assert.equal(processes?.[0]?.ending?.type, 'killed')
  assert.ok(existsSync(join(folder!, 'files', 'kept.txt')))
  assert.match(await call(agent.id, 'read_file', { path: 'kept.txt' }), /kept/)
})

test('an agent has the workspace tools only if they are named; the client names, lists, attaches and detaches them', {
  skip,
}, async (t) => {
  const { ask, call, client } = await serveApp(t)
  const names = ['shell', 'process', 'read_file', 'write_file', 'edit_file', 'search_files']
  const namesOf = async (id: string) => (await client.agents.tools.list(id)).items.map(({ name }) => name)
  const made = await ask('POST', '/v1/holdfast/agents', { body: { name: 'plain', model: 'puppet/any' } })
  const plain = await namesOf((made.body as { id: string }).id)
  assert.ok(plain.includes('current_time'))
  assert.deepEqual(
    plain.filter((name) => names.includes(name!)),
    [],
  )
  const bare = await client.agents.create({ model: 'puppet/any' })
  assert.deepEqual(
    (await namesOf(bare.id)).filter((name) => names.includes(name!)),
    [],
  )
  const shell = (await client.tools.list({ name: 'shell' })).items[0]!
  await client.agents.tools.attach(shell.id!, { agent_id: bare.id })
  assert.ok((await namesOf(bare.id)).includes('shell'))
  assert.match(await call(bare.id, 'shell', { command: 'echo attached' }), /attached/)
  await client.agents.tools.detach(shell.id!, { agent_id: bare.id })
  assert.ok(!(await namesOf(bare.id)).includes('shell'))
  const named = await workspaceAgent(client)
  assert.deepEqual((await namesOf(named.id)).sort(), names.toSorted())
})

test('an invalid workspace id, process id or output offset gets a clear error', { skip }, async (t) => {
  const { ask, call, client } = await serveApp(t)
  const agent = await workspaceAgent(client)
  await call(agent.id, 'shell', { command: 'echo once' })
  const [workspace]: Wire[] = (await ask('GET', '/v1/workspaces')).body
  const path = `/v1/workspaces/${workspace!.conversation_id}`
  const process = `${path}/processes/${workspace!.processes![0]!.id}`
  const answers: [number, string, string][] = [
    [422, 'GET', '/v1/workspaces/nonsense'],
    [404, 'GET', `/v1/workspaces/conv-${crypto.randomUUID()}`],
    ...['nonsense', '__proto__', '%00', '%F0%9F%98%80', 'a'.repeat(190)].map((id): [number, string, string] => [
      404,
      'GET',
      `${path}/processes/${id}`,
    ]),
    [404, 'DELETE', `${path}/processes/..%2F..%2Fsecret.key`],
    [422, 'GET', `${process}?from=-1`],
    [422, 'GET', `${process}?limit=0`],
    [422, 'GET', `${process}?last=99999999`],
    [422, 'GET', '/v1/workspaces?agent_id=nobody'],
    [422, 'GET', '/v1/workspaces?after=nothing'],
    [200, 'GET', `${process}?from=999999999`],
  ]
  for (const [status, method, where] of answers) {
    const answer = await ask(method, where)
    assert.equal(answer.status, status, `${method} ${where}: ${JSON.stringify(answer.body)}`)
    if (status !== 200) assert.ok('detail' in (answer.body as object))
  }
})

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + 20_000; Date.now() < end; ) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return assert.fail('it never came about')
}

test('without a sandbox, by configuration, each command waits for approval; file operations do not', async (t) => {
  const { ask, call, client, app } = await serveApp(t, { HOLDFAST_SANDBOX: 'local' })
  const agent = await workspaceAgent(client)
  await call(agent.id, 'write_file', { path: 'a.txt', content: 'from a person who agreed' })
  const input = JSON.stringify({ tool: 'shell', input: { command: 'cat a.txt' } })
  const response = await client.agents.messages.create(agent.id, { input })
  assert.equal(response.stop_reason.stop_reason, 'requires_approval')
  const [workspace]: Wire[] = (await ask('GET', '/v1/workspaces')).body
  assert.deepEqual([workspace!.containment, workspace!.processes], ['local', []], 'nothing ran')

  const [open]: { run_id: string; tool_calls: { tool_call_id: string }[] }[] = (await ask('GET', '/v1/approvals')).body
  const approvals = [{ tool_call_id: open!.tool_calls[0]!.tool_call_id, verdict: 'approve' }]
  const answer = await ask('POST', `/v1/approvals/${open!.run_id}`, { body: { approvals } })
  const { run_id } = answer.body as { run_id: `run-${string}` }
  assert.equal((await waitForRun(run_id, app.context)).status, 'completed')
  const [after]: Wire[] = (await ask('GET', '/v1/workspaces')).body
  const path = `/v1/workspaces/${after!.conversation_id}/processes/${after!.processes![0]!.id}`
  const { output }: { output: { text: string } } = (await ask('GET', path)).body
  assert.equal(output.text, 'from a person who agreed')
})

test('without a sandbox, agents of other organizations cannot use workspace tools', async (t) => {
  const { ask, client, app } = await serveApp(t, { HOLDFAST_SANDBOX: 'local' })
  const { id: organization_id }: { id: string } = (await ask('POST', '/v1/organizations', { body: { name: 'x' } })).body
  const made = await ask('POST', '/v1/keys', { body: { name: 'theirs', scope: 'admin', organization_id } })
  const theirs = new Letta({ baseURL: client.baseURL, apiKey: (made.body as { key: string }).key, maxRetries: 0 })
  const agent = await workspaceAgent(theirs)
  const run = (tool: string, args: object) => theirs.agents.tools.run(tool, { agent_id: agent.id, args: { ...args } })
  await assert.rejects(run('shell', { command: 'id' }), {
    status: 409,
    message: /shell does not run by hand: commands run without a sandbox here/,
  })
  const written = (await run('write_file', { path: 'a', content: 'b' })) as { status: string; func_return: string }
  assert.equal(written.status, 'error')
  assert.match(written.func_return, /only agents of the default organization may/)
  assert.deepEqual(await app.context.workspaces?.list(), [])
})
