import { suite, test } from 'node:test'
import { APPENDS } from './contract-appends.ts'
import { AUDIT } from './contract-audit.ts'
import { BLOCK_VERSIONS } from './contract-block-versions.ts'
import { CHANGES } from './contract-changes.ts'
import { CLAIMS } from './contract-claims.ts'
import { CONVERSATIONS } from './contract-conversations.ts'
import { CREDENTIALS } from './contract-credentials.ts'
import { ERASURE } from './contract-erasure.ts'
import { GATEWAY } from './contract-gateway.ts'
import { HOOKS } from './contract-hooks.ts'
import { IMPORTS } from './contract-imports.ts'
import { INTAKE } from './contract-intake.ts'
import { MCP_SERVERS } from './contract-mcp-servers.ts'
import { MEMORY } from './contract-memory.ts'
import { OPENAI } from './contract-openai.ts'
import { PEOPLE } from './contract-people.ts'
import { READS } from './contract-reads.ts'
import { REPAIRS } from './contract-repairs.ts'
import { REQUESTS } from './contract-requests.ts'
import { SCHEDULES } from './contract-schedules.ts'
import { SEARCH } from './contract-search.ts'
import { SHARES } from './contract-shares.ts'
import { STEERS } from './contract-steers.ts'
import { STREAMS } from './contract-streams.ts'
import { WEBHOOKS } from './contract-webhooks.ts'
import type { StorageFixture } from './fixture-storage.ts'

/** Tests that run on every database, by title. */
export type ContractTests = Record<string, (fixture: StorageFixture) => Promise<void>>

export type OpenFixture = () => Promise<{ fixture: StorageFixture; close(): Promise<void> }>

const CONTRACT: ContractTests = {
  ...APPENDS,
  ...INTAKE,
  ...STEERS,
  ...CHANGES,
  ...CLAIMS,
  ...SHARES,
  ...ERASURE,
  ...READS,
  ...STREAMS,
  ...OPENAI,
  ...REQUESTS,
  ...REPAIRS,
  ...CREDENTIALS,
  ...MEMORY,
  ...BLOCK_VERSIONS,
  ...PEOPLE,
  ...AUDIT,
  ...MCP_SERVERS,
  ...CONVERSATIONS,
  ...WEBHOOKS,
  ...HOOKS,
  ...SEARCH,
  ...SCHEDULES,
  ...GATEWAY,
  ...IMPORTS,
}

/** `concurrency`: tests that run side by side, where most of the time is spent waiting for a server. */
export function testContract(database: string, open: OpenFixture, concurrency = 1): void {
  suite(database, { concurrency }, () => {
    for (const [title, run] of Object.entries(CONTRACT))
      test(`${database}: ${title}`, { timeout: 30_000 }, async () => {
        const { fixture, close } = await open()
        try {
          await run(fixture)
        } finally {
          await close()
        }
      })
  })
}

export const contractTitles = Object.keys(CONTRACT)
