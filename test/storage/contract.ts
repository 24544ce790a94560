import { suite, test } from 'node:test'
import { APPENDS } from './contract-appends.ts'
import { CALLBACKS } from './contract-callbacks.ts'
import { CLAIMS } from './contract-claims.ts'
import { CONVERSATIONS } from './contract-conversations.ts'
import { CREDENTIALS } from './contract-credentials.ts'
import { INTAKE } from './contract-intake.ts'
import { MCP_SERVERS } from './contract-mcp-servers.ts'
import { MEMORY } from './contract-memory.ts'
import { PEOPLE } from './contract-people.ts'
import { READS } from './contract-reads.ts'
import { REPAIRS } from './contract-repairs.ts'
import { REQUESTS } from './contract-requests.ts'
import { SEARCH } from './contract-search.ts'
import { STREAMS } from './contract-streams.ts'
import type { StorageFixture } from './fixture-storage.ts'

/** What every database keeps: the promise in plain words, and how it is tried. */
export type ContractTests = Record<string, (given: StorageFixture) => Promise<void>>

export type OpenFixture = () => Promise<{ given: StorageFixture; close(): Promise<void> }>

const CONTRACT: ContractTests = {
  ...APPENDS,
  ...INTAKE,
  ...CLAIMS,
  ...READS,
  ...STREAMS,
  ...REQUESTS,
  ...REPAIRS,
  ...CREDENTIALS,
  ...MEMORY,
  ...PEOPLE,
  ...MCP_SERVERS,
  ...CONVERSATIONS,
  ...CALLBACKS,
  ...SEARCH,
}

/** `atOnce`: how many promises are tried side by side, where most of the time is spent waiting for a server. */
export function testContract(database: string, open: OpenFixture, atOnce = 1): void {
  suite(database, { concurrency: atOnce }, () => {
    for (const [promise, attempt] of Object.entries(CONTRACT))
      test(`${database}: ${promise}`, { timeout: 30_000 }, async () => {
        const { given, close } = await open()
        try {
          await attempt(given)
        } finally {
          await close()
        }
      })
  })
}

export const contractTitles = Object.keys(CONTRACT)
