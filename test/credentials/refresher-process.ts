import { realClock } from '../../src/config/real-clock.ts'
import { realRandomness } from '../../src/config/real-randomness.ts'
import { openSecretKeys } from '../../src/config/secret-key.ts'
import type { CredentialId } from '../../src/core/credential.ts'
import { DEFAULT_ORGANIZATION as ORGANIZATION } from '../../src/core/id.ts'
import { newCredentialPool } from '../../src/providers/credentials/credential-pool.ts'
import { openSqliteStore } from '../../src/storage/sqlite.ts'

/** A process that renews one credential of a home on a line from stdin, and prints the result. */
const [home, id, tokenUrl, leaseMs] = process.argv.slice(2) as [string, CredentialId, string, string]
const { store, chunks } = await openSqliteStore({ home, clock: realClock, durability: 'strict', role: 'guest' })
const pool = newCredentialPool({
  organizationId: ORGANIZATION,
  store,
  box: openSecretKeys(home).box,
  environment: [],
  clock: realClock,
  randomness: realRandomness,
  flows: { generic: { tokenUrl } },
  refreshLeaseMs: Number(leaseMs),
  report: (fault) => process.stderr.write(`${fault}\n`),
})
process.stdout.write('ready\n')
await new Promise((resolve) => process.stdin.once('data', resolve))
process.stdin.pause()
const refreshed = await pool.refresh(id, { failedSecret: 'access-0', signal: new AbortController().signal })
const choice = await pool.choose('acme', { setAside: [], at: Date.now() })
const secret = choice.type === 'granted' ? choice.grant.secret : choice.type
process.stdout.write(`${refreshed.type} ${secret}\n`)
await chunks.close()
await store.close()
