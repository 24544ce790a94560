import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Operation } from '../../src/http/operation.ts'
import { SURFACES } from '../../src/http/surfaces.ts'
import { startMcpServer, text } from '../harness/mcp-server.ts'
import { STORY } from './recorded/corpus.ts'
import { newPlayer, type Values } from './recorded/play.ts'
import type { RecordedRequest } from './recorded/request.ts'
import { HOME_KEY, startServerProcess } from './recorded/server-process.ts'
import { DELETIONS } from './recorded/story/deletions.ts'
import { WORKSPACE_LEAVES } from './recorded/story/mcp-files-workspaces.ts'
import { PEOPLE_LEAVE } from './recorded/story/people.ts'

// Every request of the recorded story whose operation is audited, twice: first while the audit log cannot be written.

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const REQUESTS: readonly RecordedRequest[] = [...STORY, ...WORKSPACE_LEAVES, ...DELETIONS, ...PEOPLE_LEAVE]
const AUDITED = SURFACES.flatMap(({ operations }) => operations).filter(({ audit }) => audit !== 'none')

/** Tables that only requests change; turns and jobs write to others meanwhile. */
const WATCHED = [
  'agents',
  'agent_blocks',
  'agent_tags',
  'blocks',
  'tools',
  'mcp_servers',
  'organizations',
  'organization_policies',
  'users',
  'webhook_secrets',
  'credentials',
  'passages',
]

/** They find the deed done: a revoked key, an answered question, a process that has ended. Nothing changes and nothing is logged. */
const REPEATS = [
  'DELETE /v1/keys/{{revoked-id}}',
  'POST /v1/approvals/{{waiting-run}}',
  'DELETE /v1/workspaces/{{workshop}}/processes/{{process}}',
]

function operationOf({ method, path }: RecordedRequest): Operation | undefined {
  const [plain = ''] = path.split('?')
  const matching = AUDITED.filter(
    (one) => one.method === method && new RegExp(`^${one.path.replaceAll(/:\w+/g, '[^/]+')}/?$`).test(plain),
  )
  return matching.toSorted((one, other) => one.path.split(':').length - other.path.split(':').length)[0]
}

test('every audited operation leaves an entry when it is done, and does nothing when the entry cannot be written', {
  timeout: 600_000,
}, async (context) => {
  const mcp = await startMcpServer([
    { name: 'greet', description: 'Says hello.', run: ({ name }) => text(`Hello, ${name}.`) },
    { name: 'whisper', run: () => text('psst') },
  ])
  const { origin } = new URL(mcp.url)
  const server = await startServerProcess(MAIN)
  const values: Values = new Map([
    ['home', HOME_KEY],
    ['wrong', 'a-key-that-opens-nothing'],
    ['mcp-url', mcp.url],
    ['mcp-sse-url', mcp.sseUrl],
    ['mcp-nowhere', `${origin}/messages`],
  ])
  const player = newPlayer(server.port, values)
  const database = new DatabaseSync(join(server.home, 'holdfast.db'), { timeout: 10_000 })
  context.after(async () => {
    database.close()
    player.close()
    await server.stop()
    await mcp.close()
  })
  const content = () => JSON.stringify(WATCHED.map((table) => database.prepare(`select * from ${table}`).all()))
  const entries = () => Number(database.prepare('select count(*) as count from audit_log').get()!.count)

  const faults: string[] = []
  const seen = new Set<Operation>()
  for (const request of REQUESTS) {
    const operation = operationOf(request)
    const told = `${request.method} ${request.path}`
    let refused = 0
    if (operation) {
      const { keep: _, until: __, ...once } = request
      const before = content()
      database.exec('alter table audit_heads rename to audit_heads_gone')
      refused = (await player.play(once)).status
      database.exec('alter table audit_heads_gone rename to audit_heads')
      const after = content()
      if (refused < 400 && !REPEATS.includes(told)) faults.push(`${told} was answered ${refused} without its entry`)
      if (after !== before) faults.push(`${told} changed rows without its entry`)
    }
    const from = entries()
    const { status } = await player.play(request)
    if (!operation || status >= 400) continue
    seen.add(operation)
    if (refused < 400 && entries() === from && REPEATS.includes(told)) continue
    if (refused < 500) faults.push(`${told} was refused with ${refused} and then done`)
    if (entries() === from) faults.push(`${told} was done and left no entry`)
  }
  const missing = AUDITED.filter((operation) => !seen.has(operation)).map(({ method, path }) => `${method} ${path}`)
  context.diagnostic(
    `${seen.size} of ${AUDITED.length} audited operations; not done in the story: ${missing.join(', ')}`,
  )
  assert.deepEqual(faults, [])
  assert.ok(seen.size > 50, `${seen.size} operations`)
})
