import { DatabaseSync } from 'node:sqlite'
import { sha256 } from '../../../src/config/sha256.ts'
import { DEFAULT_ORGANIZATION, type ImportId } from '../../../src/core/id.ts'
import { newProgress } from '../../../src/core/import.ts'
import { checkConversation, checkImportObject } from '../../../src/core/invariants/all.ts'
import { oldServerSource } from '../../../src/http/letta/old-server/old-server.ts'
import { startImporter } from '../../../src/jobs/importer.ts'
import type { SafeFetch } from '../../../src/ports/safe-fetch.ts'
import type { ServiceContext } from '../../../src/service/service-context.ts'
import { shareSqliteStore } from '../../../src/storage/sqlite.ts'
import type { OpenedStore } from '../../../src/storage/store.ts'
import { toolRegistry } from '../../../src/tools/registry.ts'
import { killable, newKillSwitch } from '../../harness/killable.ts'
import { newOldRoutes, type OldVersion } from '../../harness/old-server/old-routes.ts'
import type { WorldSize } from '../../harness/old-server/old-world.ts'
import { newStubContext, stubEngineDeps } from '../../harness/stubs.ts'
import { type Kernel, newKernel } from './kernel.ts'
import type { SeedReport } from './seed.ts'

const URL_OF_SOURCE = 'http://old-server'
const FAULTY_MS = 60_000
const REST_MS = 900_000
const VERSIONS: OldVersion[] = ['0.8.0', '0.12.0', '0.16.8']

/**
 * A simulated move: processes that die at any call import from an old server that drops answers, repeats pages and forgets
 * cursors, while it grows. At the end both sides are compared, object by object.
 */
export async function runImportSeed({ seed }: { seed: number }): Promise<SeedReport> {
  const kernel = newKernel(seed)
  const violations: string[] = []
  const database = new DatabaseSync(':memory:')
  const clock = clockOf(kernel)
  const opened = await settled(kernel, shareSqliteStore({ database, clock, ownership: 'peer' }))
  const size = drawSize(kernel)
  const version = kernel.pick(VERSIONS)
  const fetch = faultyFetch(kernel, { version, size })
  await settled(kernel, openImport(opened))
  const deaths = { count: 0 }
  const boot = async (): Promise<void> => {
    const life = newKillSwitch()
    const name = `p${deaths.count}`
    const mortal = mortalStore(opened, {
      kernel,
      life,
      name,
      onDeath: () => kernel.after(kernel.between(100, 3_000), () => void boot()),
    })
    deaths.count++
    const workerId = `worker-${kernel.uuid()}` as const
    await mortal.workers.beat(workerId, 2_000)
    const beating = killableEvery(kernel, life, 500, () => void mortal.workers.beat(workerId, 2_000))
    void beating
    startImporter({ context: contextOf({ kernel, life, store: mortal, opened, workerId, fetch, violations }) })
  }
  await settled(kernel, boot())
  await kernel.run(FAULTY_MS)
  const grown = { messages: size.messages + 15, passages: size.passages + 3 }
  await untilOver(kernel, opened)
  Object.assign(size, grown)
  await settled(kernel, openImport(opened))
  await untilOver(kernel, opened)
  await settled(kernel, compare({ opened, database, size, version, violations }))
  database.close()
  return {
    seed,
    violations,
    story: kernel.story,
    hash: kernel.hash(),
    events: kernel.events(),
    runs: 0,
    faults: new Map(),
    reached: new Map([['deaths of importers', deaths.count]]),
    conversations: [],
  }
}

const drawSize = (kernel: Kernel): WorldSize => ({
  agents: kernel.between(1, 3),
  conversations: kernel.between(0, 2),
  messages: kernel.between(30, 1_200),
  passages: kernel.between(0, 5),
  tools: kernel.between(1, 4),
})

const clockOf = (kernel: Kernel) => ({
  now: kernel.now,
  monotonic: kernel.now,
  sleep: (ms: number) => kernel.delay(ms),
  every: () => () => {},
  soon: (task: () => void) => void kernel.after(0, task),
})

/** Lets virtual time pass until the work is done. */
async function settled<T>(kernel: Kernel, work: Promise<T>): Promise<T> {
  let isOver = false
  void work.finally(() => {
    isOver = true
  })
  while (!isOver) await kernel.run(kernel.now() + 1)
  return work
}

const RECORD = `import-00000000-0000-4000-8000-000000000001` as ImportId

const openImport = ({ store }: OpenedStore) =>
  store.imports.open(
    {
      id: RECORD,
      organizationId: DEFAULT_ORGANIZATION,
      origin: { type: 'server', url: URL_OF_SOURCE },
      options: {},
      state: 'running',
      progress: newProgress('Waiting'),
      passes: 1,
      createdAt: 0,
      startedAt: 0,
      updatedAt: 0,
    },
    undefined,
  )

/** Failed passes are requested again, as a person would. */
async function untilOver(kernel: Kernel, opened: OpenedStore): Promise<void> {
  for (const until = kernel.now() + REST_MS; kernel.now() < until; ) {
    await kernel.run(kernel.now() + 2_000)
    const record = await settled(kernel, opened.store.imports.get(DEFAULT_ORGANIZATION, RECORD))
    if (record?.state === 'running') continue
    const counts = await settled(kernel, opened.store.imports.counts(DEFAULT_ORGANIZATION, RECORD))
    if (record?.state === 'done' && !counts.some(({ outcome }) => outcome === 'failed')) return
    await settled(kernel, openImport(opened))
  }
}

type Mortal = { kernel: Kernel; life: ReturnType<typeof newKillSwitch>; name: string; onDeath(): void }

/** A store whose calls may be the last of the process: before they take effect, or after. */
function mortalStore({ store }: OpenedStore, { kernel, life, name, onDeath }: Mortal): OpenedStore['store'] {
  const die = () => {
    if (!life.isAlive || kernel.now() > FAULTY_MS) return
    kernel.log(`${name} is killed`)
    life.kill()
    onDeath()
  }
  const imports = new Proxy(store.imports, {
    get(target, key) {
      const method = Reflect.get(target, key) as (...parameters: unknown[]) => Promise<unknown>
      return async (...parameters: unknown[]) => {
        await kernel.delay(kernel.between(0, 20))
        if (kernel.chance(0.01)) die()
        if (!life.isAlive) return new Promise(() => {})
        const answer = await method.apply(target, parameters)
        if (kernel.chance(0.02)) die()
        return answer
      }
    },
  })
  return killable({ ...store, imports }, life)
}

function killableEvery(kernel: Kernel, life: Mortal['life'], ms: number, task: () => void): void {
  const again = () =>
    void kernel.after(ms, () => {
      if (!life.isAlive) return
      task()
      again()
    })
  again()
}

type ContextParts = {
  kernel: Kernel
  life: Mortal['life']
  store: OpenedStore['store']
  opened: OpenedStore
  workerId: `worker-${string}`
  fetch: SafeFetch
  violations: string[]
}

function contextOf({ kernel, life, store, opened, workerId, fetch, violations }: ContextParts): ServiceContext {
  const clock = {
    ...clockOf(kernel),
    every: (ms: number, task: () => void) => {
      killableEvery(kernel, life, ms, task)
      return () => {}
    },
  }
  const deps = {
    ...stubEngineDeps(),
    store,
    clock,
    randomness: { uuid: kernel.uuid, fraction: kernel.fraction },
    tools: toolRegistry([]),
    models: { find: () => undefined },
    digest: sha256,
    report: (fault: unknown) => {
      if (life.isAlive) violations.push(`an internal error: ${fault instanceof Error ? fault.stack : fault}`)
    },
  }
  const context: ServiceContext = newStubContext({
    deps: deps as never,
    engine: { workerId } as never,
    snapshot: opened.snapshot,
    defaults: { model: 'test/model', maxSteps: 1, maxDurationMs: 1, approvalTtlMs: 1 },
    importSources: () => oldServerSource({ url: URL_OF_SOURCE, fetch, context }),
  })
  return context
}

type FaultyOptions = { version: OldVersion; size: WorldSize }

/** The old server over no network: answers are late, lost, cut, refused, and lists begin again. */
function faultyFetch(kernel: Kernel, { version, size }: FaultyOptions): SafeFetch {
  const routes = newOldRoutes({ version, size, edit: (object) => object })
  return async (address) => {
    const url = new URL(address)
    await kernel.delay(kernel.between(1, 60))
    const isFaulty = kernel.now() < FAULTY_MS
    if (isFaulty && kernel.chance(0.03))
      throw Object.assign(new TypeError('fetch failed'), { cause: new Error('other side closed') })
    if (isFaulty && kernel.chance(0.02)) return new Response('{"detail":"An unknown error occurred"}', { status: 500 })
    if (isFaulty && kernel.chance(0.01)) return new Response('', { status: 429, headers: { 'retry-after': '1' } })
    if (isFaulty && kernel.chance(0.01)) return new Response('<html></html>', { status: 200 })
    // A cursor that the server forgot: the list begins again.
    if (isFaulty && kernel.chance(0.08) && url.pathname.endsWith('/messages')) url.searchParams.delete('after')
    const { status, value } = routes('GET', url, '')
    return new Response(JSON.stringify(value), { status })
  }
}

type Comparison = {
  opened: OpenedStore
  database: DatabaseSync
  size: WorldSize
  version: OldVersion
  violations: string[]
}

/** Every message of the source is here once, in its order, and every row tells the truth. */
async function compare({ opened, database, size, version, violations }: Comparison): Promise<void> {
  const { store, snapshot } = opened
  const record = await store.imports.get(DEFAULT_ORGANIZATION, RECORD)
  if (record?.state !== 'done') violations.push(`I13 the import never ended: ${record?.state} ${record?.failure ?? ''}`)
  for await (const one of snapshot.importObjects())
    for (const { invariant, detail } of checkImportObject(one)) violations.push(`${invariant} ${detail}`)
  for await (const one of snapshot.conversations())
    for (const { invariant, detail } of checkConversation(one)) violations.push(`${invariant} ${detail}`)
  const conversations = size.agents * (1 + (version === '0.16.8' ? size.conversations : 0))
  const number = (sql: string) => Number(database.prepare(sql).get()?.count)
  const expected = {
    agents: size.agents,
    conversations,
    blocks: size.agents + 1,
    tools: size.tools,
    passages: size.agents * size.passages,
  }
  for (const [table, count] of Object.entries(expected)) {
    const found = number(`select count(*) as count from ${table}`)
    if (found !== count) violations.push(`nothing happens twice: ${found} ${table}, and the source has ${count}`)
  }
  const rows = number(`select count(*) as count from import_objects where kind = 'message'`)
  if (rows !== conversations * size.messages)
    violations.push(`nothing is lost: ${rows} rows of ${conversations * size.messages} messages`)
  const strangers = number(`select count(*) as count from messages where role <> 'tool' and not exists (
    select 1 from import_objects where kind = 'message' and target_id = messages.id)`)
  if (strangers > 0) violations.push(`nothing happens twice: ${strangers} messages have no row of an import`)
  const misplaced = number(`select count(*) as count from messages as one join messages as other
    on other.conversation_id = one.conversation_id and other.position = one.position + 1 and other.created_at < one.created_at`)
  if (misplaced > 0) violations.push(`nothing is lost: ${misplaced} messages are not in their order`)
}
