import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openApp } from '../../src/app.ts'
import { defined } from '../../src/core/defined.ts'
import { SCOPES, type Scope, scopeCovers } from '../../src/core/people.ts'
import type { Operation } from '../../src/http/operation.ts'
import { startServer } from '../../src/http/server.ts'
import { SURFACES } from '../../src/http/surfaces.ts'
import { requestOf } from './fixture-keyed-server.ts'
import { KEY } from './fixture-server-process.ts'

/** Every operation that needs a key. */
export const OPERATIONS: readonly Operation[] = SURFACES.flatMap(({ operations }) => operations).filter(
  ({ scope }) => scope !== 'open',
)

type Tenant = { id: string; keys: Record<Scope, string> }

type Ask = (
  method: string,
  path: string,
  key: string | undefined,
  body?: unknown,
) => Promise<{ status: number; body: unknown }>

/**
 * Asks every operation with a key of every scope, in the organization that owns the resources, in another one and in the
 * first one, and without a key. Each answer must be the one that follows from the operation's record. Returns the number of
 * requests.
 */
export async function checkAccess(
  context: TestContext,
  { operations, databaseUrl = '' }: { operations: readonly Operation[]; databaseUrl?: string },
): Promise<number> {
  const ask = await serve(context, databaseUrl)
  const owner = await newTenant(ask, 'owner')
  const other = await newTenant(ask, 'other')
  const first = await newTenant(ask)
  const ids = await fill(ask, owner)
  const before = await resourcesOf(ask, owner, ids)
  const faults: string[] = []
  let requests = 0

  async function check(operation: Operation, path: string, key: string | undefined, what: Expected): Promise<void> {
    const { method } = operation
    const { status } = await ask(method, path, key, method === 'GET' ? undefined : {})
    requests += 1
    if (!FITS[what.answer](status))
      faults.push(`${method} ${operation.path} with ${what.who}: ${status} is not ${what.answer}`)
  }

  for (const operation of operations) {
    const theirs = operation.path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? unknownId(name))
    const nothing = operation.path.replaceAll(/:(\w+)/g, (_, name: string) => unknownId(name))
    const namesSomething = theirs !== nothing
    await check(operation, theirs, undefined, { who: 'no key', answer: 'unauthorized' })
    for (const scope of SCOPES) {
      const isAllowed = operation.scope === 'operator' ? false : scopeCovers(scope, operation.scope as Scope & 'read')
      const answer = isAllowed ? 'answered' : 'forbidden'
      await check(operation, nothing, owner.keys[scope], { who: `${scope} of the owner`, answer })
      const foreign = isAllowed && namesSomething ? 'refused' : answer
      await check(operation, theirs, other.keys[scope], { who: `${scope} of another organization`, answer: foreign })
      const isOperator = operation.scope === 'operator' ? scope === 'admin' : isAllowed
      // Operators may administer other organizations: they ask for what does not exist.
      await check(operation, nothing, first.keys[scope], {
        who: `${scope} of the first organization`,
        answer: isOperator ? 'answered' : 'forbidden',
      })
    }
  }
  assert.deepEqual(faults, [])
  assert.deepEqual(await resourcesOf(ask, owner, ids), before, 'another organization changed something')
  return requests
}

type Expected = { who: string; answer: keyof typeof FITS }

const FITS = {
  unauthorized: (status: number) => status === 401,
  forbidden: (status: number) => status === 403,
  /** Admitted: it may be invalid, but not for the key. */
  answered: (status: number) => status !== 401 && status !== 403 && (status < 500 || status === 501 || status === 503),
  /** Admitted, and the resource looks missing. */
  refused: (status: number) => status >= 400 && status < 500 && status !== 401,
}

const PREFIXES: Record<string, string> = { conversation_id: 'conv', memory_id: 'passage', organization_id: 'org' }

const unknownId = (name: string): string =>
  name.endsWith('_id')
    ? `${PREFIXES[name] ?? name.slice(0, -'_id'.length)}-00000000-0000-4000-8000-00000000dead`
    : 'nothing'

async function serve(context: TestContext, databaseUrl: string): Promise<Ask> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-access-'))
  const report = () => undefined
  const app = await openApp({
    environment: {
      PATH: process.env.PATH,
      HOLDFAST_HOME: home,
      HOLDFAST_LIMIT_REQUESTS_PER_SECOND: '0',
      HOLDFAST_LIMIT_REQUESTS_PER_SECOND_PER_ORGANIZATION: '0',
      HOLDFAST_LIMIT_REFUSALS_PER_MINUTE: '1000000',
      ...defined({ DATABASE_URL: databaseUrl || undefined }),
    },
    role: 'owner',
    report,
  })
  const server = await startServer({
    context: app.context,
    host: '127.0.0.1',
    port: 0,
    apiKey: KEY,
    version: 'test',
    report,
  })
  context.after(async () => {
    await server.close()
    await app.close()
    rmSync(home, { recursive: true, force: true })
  })
  return async (method, path, key, body) => {
    const leave = new AbortController()
    const shown = key === undefined ? {} : requestOf(key, body)
    const init = { method, signal: leave.signal, ...shown }
    const response = await fetch(`${server.url}${path}`, init)
    const { status, headers } = response
    // Streams may never end: their status is enough.
    const isStream = headers.get('content-type')?.startsWith('text/event-stream') ?? false
    const text = isStream ? '' : await response.text()
    leave.abort()
    return { status, body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text }
  }
}

/** Without a name: the organization that the home began with. */
async function newTenant(ask: Ask, name?: string): Promise<Tenant> {
  const organization = name === undefined ? undefined : await must(ask('POST', '/v1/organizations', KEY, { name }))
  const keys = {} as Record<Scope, string>
  for (const scope of SCOPES) {
    const body = { name: scope, scope, ...defined({ organization_id: organization?.id }) }
    keys[scope] = (await must(ask('POST', '/v1/keys', KEY, body))).key!
  }
  return { id: organization?.id ?? '', keys }
}

/** A resource of each kind that a path can name. */
async function fill(ask: Ask, { id, keys: { admin } }: Tenant): Promise<Record<string, string>> {
  const post = (path: string, body: object) => must(ask('POST', path, admin, body))
  const first = async (path: string) => ((await ask('GET', path, admin)).body as { id: string }[])[0]!
  const agent = await post('/v1/agents', { name: 'keeper', model: 'scripted/friendly', tools: ['current_time'] })
  const block = await post('/v1/blocks', { label: 'secret', value: 'ours' })
  await ask('PATCH', `/v1/agents/${agent.id}/core-memory/blocks/attach/${block.id}`, admin, {})
  const conversation = await post(`/v1/conversations?agent_id=${agent.id}`, {})
  const tool = await post('/v1/tools', { source_code: 'def ours():\n    """Ours."""\n    return 1\n' })
  await post(`/v1/agents/${agent.id}/archival-memory`, { text: 'ours' })
  await post(`/v1/agents/${agent.id}/messages`, { input: 'hello' })
  const run = await first(`/v1/runs?agent_id=${agent.id}`)
  const user = await post('/v1/users', { name: 'Bo' })
  const key = await post('/v1/keys', { name: 'spare', scope: 'read' })
  return {
    agent_id: agent.id,
    block_id: block.id,
    conversation_id: conversation.id,
    tool_id: tool.id,
    run_id: run.id,
    user_id: user.id,
    key_id: key.id,
    organization_id: id,
    memory_id: (await first(`/v1/agents/${agent.id}/archival-memory`)).id,
    step_id: (await first(`/v1/runs/${run.id}/steps`)).id,
    message_id: (await first(`/v1/agents/${agent.id}/messages`)).id,
    block_label: 'secret',
    label: 'secret',
    tool_name: 'current_time',
  }
}

async function must(answer: ReturnType<Ask>): Promise<{ id: string; key?: string }> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body as { id: string; key?: string }
}

/** What another organization must not change. */
async function resourcesOf(ask: Ask, { keys: { admin } }: Tenant, ids: Record<string, string>): Promise<unknown[]> {
  const paths = [
    `/v1/agents/${ids.agent_id}`,
    `/v1/blocks/${ids.block_id}`,
    `/v1/conversations/${ids.conversation_id}`,
    `/v1/tools/${ids.tool_id}`,
    `/v1/runs/${ids.run_id}`,
    `/v1/keys/${ids.key_id}`,
    `/v1/agents/${ids.agent_id}/archival-memory`,
    `/v1/agents/${ids.agent_id}/messages`,
    '/v1/users',
  ]
  return Promise.all(paths.map((path) => ask('GET', path, admin)))
}
