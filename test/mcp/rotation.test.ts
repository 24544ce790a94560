import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { openSecretKeys } from '../../src/config/secret-key.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import type { McpServer } from '../../src/core/mcp-server.ts'
import { rotateSecretKey } from '../../src/service/credentials/rotate-secret-key.ts'
import { openSqliteStore } from '../../src/storage/sqlite.ts'
import { newMcpClient } from '../../src/tools/mcp/mcp-client.ts'
import { NO_OAUTH, NO_PROGRAMS } from './fixture-client.ts'
import { UNRESTRICTED_FETCH } from './fixture-outbound.ts'

test('after key rotation the new key opens the secrets of MCP servers, and the old one does not', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-mcp-'))
  const { store, chunks } = await openSqliteStore({ home, clock: realClock, durability: 'relaxed', role: 'owner' })
  t.after(async () => {
    await chunks.close()
    await store.close()
    rmSync(home, { recursive: true, force: true })
  })
  const keys = openSecretKeys(home)
  const client = (box = keys.box) =>
    newMcpClient({
      ...NO_OAUTH,
      programs: NO_PROGRAMS,
      clock: { now: Date.now },
      servers: store.mcpServers,
      box,
      fetch: UNRESTRICTED_FETCH,
    })
  const secrets = { token: 'very-secret', headers: { 'x-one': 'two' } }
  const id = 'mcp_server-11111111-1111-4111-8111-111111111111'
  const server: McpServer = {
    id,
    organizationId: DEFAULT_ORGANIZATION,
    name: 'shop',
    revision: 1,
    createdAt: 0,
    updatedAt: 0,
    transport: { type: 'sse', url: 'http://127.0.0.1:9/sse' },
    contact: { state: 'reached', at: 0 },
    sealed: client().seal(secrets, id),
  }
  await store.mcpServers.create(server)
  const clock = { sleep: async () => undefined }
  assert.deepEqual(await rotateSecretKey({ secretKeys: keys, deps: { store, clock } }), { resealed: 1 })
  const kept = await store.mcpServers.get(DEFAULT_ORGANIZATION, id)
  assert.notEqual(kept?.sealed, server.sealed)
  assert.deepEqual(client(openSecretKeys(home).box).secretsOf(kept!), secrets)
  assert.equal(client(openSecretKeys(home).box).secretsOf(server), undefined)
  // Bound to its row: the secrets of one server cannot be opened for another.
  assert.equal(client().secretsOf({ ...kept!, id: `${id.slice(0, -1)}2` as typeof id }), undefined)
})
