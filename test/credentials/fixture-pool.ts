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
import type { ChooseOptions, CredentialChoice } from '../../src/ports/credentials.ts'
import { type CredentialPoolOptions, newCredentialPool } from '../../src/providers/credentials/credential-pool.ts'
import {
  type AddCredentialRequest,
  addCredential,
  type CredentialContext,
} from '../../src/service/credentials/credentials.ts'
import { openSqliteStore } from '../../src/storage/sqlite.ts'
import {
  asHolder,
  createAgent,
  createRunningRun,
  entry,
  fault,
  ORGANIZATION as OTHER_ORGANIZATION,
} from '../storage/fixture-storage.ts'

export const NOW = Date.UTC(2026, 0, 1)
export const forever = new AbortController().signal

export type PoolFixture = Awaited<ReturnType<typeof openPoolFixture>>

/** A pool on a new home. `join` opens a second pool on the same home, as another process would. */
export async function openPoolFixture(context: TestContext, options: Partial<CredentialPoolOptions> = {}) {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-credentials-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  const faults: unknown[] = []
  const open = async (role: 'owner' | 'guest', more: Partial<CredentialPoolOptions> = {}) => {
    const clock = more.clock ?? options.clock ?? realClock
    const { store, chunks } = await openSqliteStore({ home, clock, durability: 'relaxed', role })
    context.after(async () => {
      await chunks.close()
      await store.close()
    })
    const keys = openSecretKeys(home)
    const pool = newCredentialPool({
      organizationId: DEFAULT_ORGANIZATION,
      store,
      box: keys.box,
      environment: [],
      clock,
      randomness: realRandomness,
      report: (error) => faults.push(error),
      ...options,
      ...more,
    })
    const credentialContext: CredentialContext = {
      organizationId: DEFAULT_ORGANIZATION,
      credentialAdmin: pool,
      deps: { store, clock, randomness: realRandomness, credentials: pool },
    }
    const add = async (request: Partial<AddCredentialRequest>): Promise<CredentialId> => {
      const full = { provider: 'openai', label: `key ${Math.random()}`, secret: `sk-${Math.random()}`, ...request }
      return (await addCredential(full, credentialContext)).id
    }
    return { home, store, keys, pool, credentialContext: credentialContext, add, faults }
  }
  const owner = await open('owner')
  return { ...owner, join: (more?: Partial<CredentialPoolOptions>) => open('guest', more) }
}

/** Writes cooldowns as the engine does: with an event, in its transaction. */
export async function setCooldowns(
  { store }: Pick<PoolFixture, 'store'>,
  ...cooldowns: Partial<Cooldown>[]
): Promise<void> {
  const home = await createAgent(store, OTHER_ORGANIZATION)
  const run = await createRunningRun(store, { ...home })
  const changes = cooldowns.map((more) => ({
    type: 'set-cooldown' as const,
    cooldown: {
      scope: 'credential',
      key: '',
      provider: 'openai',
      reason: 'rate-limited',
      detail: 'slow down',
      until: NOW + 60_000,
      createdAt: NOW,
      ...more,
    } as Cooldown,
  }))
  await store.events.append(asHolder(run, { facts: [entry(fault('x'), ...changes)] }))
}

export async function choose(
  { pool }: Pick<PoolFixture, 'pool'>,
  options: Partial<ChooseOptions> & { provider?: string } = {},
): Promise<CredentialChoice> {
  const { provider = 'openai', ...more } = options
  return pool.choose(provider, { setAside: [], at: NOW, ...more })
}

export async function granted(fixture: Pick<PoolFixture, 'pool'>, options: Parameters<typeof choose>[1] = {}) {
  const choice = await choose(fixture, options)
  assert.equal(choice.type, 'granted', JSON.stringify(choice))
  return choice as Extract<CredentialChoice, { type: 'granted' }>
}

export const secretOf = async (fixture: Pick<PoolFixture, 'pool'>, options?: Parameters<typeof choose>[1]) =>
  (await granted(fixture, options)).grant.secret
