import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { realClock } from '../../src/config/real-clock.ts'
import { realRandomness } from '../../src/config/real-randomness.ts'
import { openSecretKeys } from '../../src/config/secret-key.ts'
import type { Cooldown, CredentialId } from '../../src/core/credential.ts'
import { DEFAULT_ORGANIZATION } from '../../src/core/id.ts'
import type { Choice, ChooseOptions } from '../../src/ports/credentials.ts'
import { newCredentialPool, type PoolOptions } from '../../src/providers/credentials/credential-pool.ts'
import { type AddCredential, addCredential, type CredentialDesk } from '../../src/service/credentials/credentials.ts'
import { openSqliteStore } from '../../src/storage/sqlite.ts'
import { asHolder, entry, fault, givenAgent, givenRunning, ORGANIZATION as SOMEBODY } from '../storage/given.ts'

export const NOW = Date.UTC(2026, 0, 1)
export const forever = new AbortController().signal

export type GivenPool = Awaited<ReturnType<typeof givenPool>>

/** A home of its own with a pool on it. `join` gives another process's pool on the same home. */
export async function givenPool(context: TestContext, options: Partial<PoolOptions> = {}) {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-credentials-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  const faults: unknown[] = []
  const open = async (role: 'owner' | 'guest', more: Partial<PoolOptions> = {}) => {
    const clock = more.clock ?? options.clock ?? realClock
    const { store, chunks } = await openSqliteStore({ home, clock, durability: 'relaxed', role })
    context.after(async () => {
      await chunks.close()
      await store.close()
    })
    const keys = openSecretKeys(home)
    const pool = newCredentialPool({
      ...{ organizationId: DEFAULT_ORGANIZATION, store, box: keys.box, environment: [], clock },
      randomness: realRandomness,
      report: (error) => faults.push(error),
      ...options,
      ...more,
    })
    const desk: CredentialDesk = {
      organizationId: DEFAULT_ORGANIZATION,
      care: pool,
      world: { store, clock, randomness: realRandomness, credentials: pool },
    }
    const add = async (request: Partial<AddCredential>): Promise<CredentialId> => {
      const full = { provider: 'openai', label: `key ${Math.random()}`, secret: `sk-${Math.random()}`, ...request }
      return (await addCredential(full, desk)).id
    }
    return { home, store, keys, pool, desk, add, faults }
  }
  const owner = await open('owner')
  return { ...owner, join: (more?: Partial<PoolOptions>) => open('guest', more) }
}

/** Writes these as the engine does: with an event, in its transaction. */
export async function rest({ store }: Pick<GivenPool, 'store'>, ...cooldowns: Partial<Cooldown>[]): Promise<void> {
  const home = await givenAgent(store, SOMEBODY)
  const run = await givenRunning(store, { ...home })
  const changes = cooldowns.map((more) => ({
    type: 'set-cooldown' as const,
    cooldown: {
      ...{ scope: 'credential', key: '', provider: 'openai', reason: 'rate-limited', detail: 'slow down' },
      ...{ until: NOW + 60_000, createdAt: NOW },
      ...more,
    } as Cooldown,
  }))
  await store.events.append(asHolder(run, { facts: [entry(fault('x'), ...changes)] }))
}

export async function choose(
  { pool }: Pick<GivenPool, 'pool'>,
  options: Partial<ChooseOptions> & { provider?: string } = {},
): Promise<Choice> {
  const { provider = 'openai', ...more } = options
  return pool.choose(provider, { setAside: [], at: NOW, ...more })
}

export async function granted(given: Pick<GivenPool, 'pool'>, options: Parameters<typeof choose>[1] = {}) {
  const choice = await choose(given, options)
  assert.equal(choice.type, 'granted', JSON.stringify(choice))
  return choice as Extract<Choice, { type: 'granted' }>
}

export const secretOf = async (given: Pick<GivenPool, 'pool'>, options?: Parameters<typeof choose>[1]) =>
  (await granted(given, options)).grant.secret
