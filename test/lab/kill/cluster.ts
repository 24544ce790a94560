import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defined } from '../../../src/core/defined.ts'
import { type Check, checkAfterKills, type WorkerReport } from './check.ts'
import { query } from './commits.ts'
import { type Life, startLife } from './life.ts'

export type Cluster = Awaited<ReturnType<typeof openCluster>>

/** A running run with the fence of its holder and the number of earlier deaths. */
export type HeldRun = { id: string; fence: number; deaths: number }

const POLL_MS = 50

/** Processes that share one PostgreSQL database and count their effects in one file. */
export async function openCluster({ databaseUrl, seed }: { databaseUrl: string; seed: number }) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-cluster-'))
  const effects = join(folder, 'effects.jsonl')
  const reports: WorkerReport[] = []
  const lives: Life[] = []
  let started = 0

  return {
    reports,
    /** Starts a process with its own home; `url` if it connects through a proxy. */
    start(index: number, { url = databaseUrl, killAt }: { url?: string; killAt?: string } = {}): Life {
      const home = join(folder, String(index))
      mkdirSync(home, { recursive: true })
      const life = startLife({
        home,
        effects,
        databaseUrl: url,
        conversations: 3,
        ownConversations: 3,
        ...defined({ killAt: killAt || undefined }),
        seed: seed * 10_000 + started++,
        // With relaxed durability a crash of PostgreSQL would lose acknowledged writes.
        durability: 'strict',
        onReport: (line) => reports.push(line),
      })
      lives.push(life)
      return life
    },
    async heldBy(life: Life): Promise<HeldRun[]> {
      const worker = (await life.hears('started'))?.workerId
      const held = `select id, fence, deaths from runs where status = 'running' and lease_owner = $1`
      return worker ? query<HeldRun>(databaseUrl, held, [worker]) : []
    },
    /** Milliseconds until another process took over all of these runs; undefined after the timeout. */
    async takenOver(held: readonly HeldRun[], withinMs: number): Promise<number | undefined> {
      const began = performance.now()
      const still = `select id from runs join unnest($1::text[], $2::int[]) as held (run, old) on id = run
        where status = 'running' and fence = old`
      const values = [held.map(({ id }) => id), held.map(({ fence }) => fence)]
      while (performance.now() - began < withinMs) {
        if ((await query(databaseUrl, still, values)).length === 0) return performance.now() - began
        await sleep(POLL_MS)
      }
      return undefined
    },
    /** Drains every live process, ends it, and compares the reports with the stored data. */
    async finish(chunks: 'all-kept' | 'may-be-lost' = 'all-kept'): Promise<Check> {
      const living = lives.filter((life) => !life.isOver())
      for (const life of living) life.order('drain')
      const restless = await Promise.all(
        living.map(async (life) =>
          (await life.hears('idle')) ? [] : [`a process did not become idle: ${life.errors()}`],
        ),
      )
      await Promise.all(living.map((life) => life.endsWithin(15_000)))
      await this.close()
      const check = await checkAfterKills({ home: join(folder, '0'), effects, reports, databaseUrl, chunks })
      return { ...check, violations: [...restless.flat(), ...check.violations] }
    },
    async close() {
      await Promise.all(lives.map((life) => life.kill()))
    },
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Opens a cluster for the length of `work` and removes it. */
export async function withCluster<T>(
  options: { databaseUrl: string; seed: number },
  work: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const cluster = await openCluster(options)
  try {
    return await work(cluster)
  } finally {
    await cluster.close()
    cluster.dispose()
  }
}
