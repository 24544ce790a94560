import { createHash, randomUUID } from 'node:crypto'
import type pg from 'pg'
import { realClock } from '../../../src/config/real-clock.ts'
import type { Change, ChangePosition } from '../../../src/core/change.ts'
import type { BlockId, OrganizationId } from '../../../src/core/id.ts'
import { checkBlockHistory } from '../../../src/core/invariants/all.ts'
import { newChangeFeed } from '../../../src/live/change-feed.ts'
import type { FeedItem } from '../../../src/ports/change-feed.ts'
import type { ChangeStore } from '../../../src/ports/change-store.ts'
import type { OpenedStore } from '../../../src/storage/store.ts'
import { seededFraction } from '../../harness/seeded.ts'
import type { SeedReport } from './seed.ts'

/** Both databases of a run of seeds: the store of a server, and connections that hold transactions open. */
export type FeedDatabase = { opened: OpenedStore; writers: readonly pg.Client[] }

const STEPS = 120
/** Other databases of the server hold back the feed while one of their transactions is open. */
const DELIVERY_MS = 60_000

/** `begun`: the turn of the first change; `values`: of blocks, by version. */
type OpenTransaction = { begun: number; changes: string[]; values: Map<BlockId, Map<number, string>> }

/**
 * Transactions that overlap, end in another order than they began, or roll back, under readers that leave and return. At the
 * end each reader has seen every change that was committed once, and each block has all values that it had.
 */
export async function runFeedSeed(seed: number, { opened, writers }: FeedDatabase): Promise<SeedReport> {
  const fraction = seededFraction(seed)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(fraction() * items.length)]!
  const { store, snapshot } = opened
  const organizationId: OrganizationId = `org-${randomUUID()}` as OrganizationId
  const violations: string[] = []
  const story: string[] = []
  const committed: string[] = []
  const blocks = new Map<BlockId, Map<number, string>>()
  const open = new Map<pg.Client, OpenTransaction>()
  const lateFrom: number[] = []
  let names = 0
  let late = 0

  let reading = Promise.resolve<unknown>(undefined)
  const changes: ChangeStore = {
    newest: () => store.changes.newest(),
    prune: (...arguments_) => store.changes.prune(...arguments_),
    after(...arguments_) {
      const page = store.changes.after(...arguments_)
      reading = Promise.allSettled([reading, page])
      return page
    },
  }
  const ticks = new Set<() => void>()
  const clock = {
    ...realClock,
    every(_: number, task: () => void) {
      ticks.add(task)
      return () => void ticks.delete(task)
    },
  }
  const feed = newChangeFeed({ changes, clock, report: (fault) => violations.push(`I41 the feed broke: ${fault}`) })
  const start = await store.changes.newest()
  const readers = ['r1', 'r2'].map((name) => newReader(name, start))

  function newReader(name: string, from: ChangePosition) {
    const reader = { name, seen: [] as string[], position: from, stop: undefined as (() => Promise<void>) | undefined }
    return {
      reader,
      connect() {
        const signal = new AbortController()
        const done = read(reader, feed.watch({ organizationId, after: reader.position, signal: signal.signal }))
        reader.stop = async () => {
          signal.abort()
          reader.stop = undefined
          await done
        }
      },
    }
  }

  async function read(
    reader: { name: string; seen: string[]; position: ChangePosition },
    items: AsyncGenerator<FeedItem>,
  ) {
    for await (const item of items) {
      reader.position = item.position
      if (item.type === 'reload') violations.push(`I41 ${reader.name} was told to reload`)
      if (item.type === 'changes') reader.seen.push(...item.changes.map(textOf))
    }
  }

  const textOf = ({ kind, id, verb }: Change) => `${kind} ${id} ${verb}`
  const isLocked = (id: BlockId) => [...open.values()].some(({ values }) => values.has(id))

  async function change(writer: pg.Client, transaction: OpenTransaction): Promise<void> {
    const known = [...blocks.keys()].filter((id) => !isLocked(id) || transaction.values.has(id))
    const kind = pick(['user', 'block', 'edit', 'edit'])
    const note = (text: string) => transaction.changes.push(text)
    if (kind === 'user') {
      const id = `user-${seed}-${names++}-${organizationId.slice(-8)}`
      await writer.query(INSERT_USER, [id, organizationId])
      note(`user ${id} created`)
    } else if (kind === 'block' || known.length === 0) {
      const id: BlockId = `block-${randomUUID()}`
      await writer.query(INSERT_BLOCK, [id, organizationId, 'value 1'])
      transaction.values.set(id, new Map([[1, 'value 1']]))
      note(`block ${id} created`)
    } else {
      const id = pick(known)
      const values = transaction.values.get(id) ?? new Map(blocks.get(id))
      transaction.values.set(id, values)
      const version = Math.max(...values.keys()) + 1
      const text = `value ${version} of ${names++}`
      await writer.query('update blocks set value = $2, version = version + 1 where id = $1', [id, text])
      values.set(version, text)
      note(`block ${id} changed`)
    }
  }

  async function act(step: number): Promise<void> {
    const writer = pick(writers)
    const transaction = open.get(writer)
    const roll = fraction()
    if (roll < 0.25) {
      for (const tick of [...ticks]) tick()
      await reading
    } else if (roll < 0.32) {
      const { reader, connect } = pick(readers)
      if (reader.stop) await reader.stop()
      else connect()
    } else if (!transaction) {
      await writer.query('begin')
      open.set(writer, { begun: step, changes: [], values: new Map() })
      await change(writer, open.get(writer)!)
    } else if (roll < 0.7) await change(writer, transaction)
    else await end(writer, transaction, fraction() < 0.2 ? 'rollback' : 'commit')
  }

  async function end(writer: pg.Client, transaction: OpenTransaction, how: 'commit' | 'rollback'): Promise<void> {
    await writer.query(how)
    open.delete(writer)
    story.push(`${how} ${transaction.changes.length}`)
    if (how === 'rollback') return
    if (lateFrom.some((begun) => begun > transaction.begun)) late++
    lateFrom.push(transaction.begun)
    committed.push(...transaction.changes)
    for (const [id, values] of transaction.values) blocks.set(id, values)
  }

  for (let step = 0; step < STEPS; step++) await act(step)
  for (const [writer, transaction] of [...open]) await end(writer, transaction, 'commit')
  for (const { reader, connect } of readers) if (!reader.stop) connect()
  await deliverAll()
  for (const { reader } of readers) await reader.stop?.()
  for (const { reader } of readers) {
    const missed = committed.filter((text) => countOf(text, reader.seen) < countOf(text, committed))
    const twice = reader.seen.filter((text) => countOf(text, reader.seen) > countOf(text, committed))
    if (missed.length > 0) violations.push(`I41 ${reader.name} never heard of ${missed[0]}`)
    if (twice.length > 0) violations.push(`I41 ${reader.name} heard too often of ${twice[0]}`)
  }
  await checkBlocks()

  /** Until a change behind all others has arrived: what is missing then never comes. */
  async function deliverAll(): Promise<void> {
    const id = `user-last-${organizationId.slice(-8)}`
    await writers[0]!.query(INSERT_USER, [id, organizationId])
    committed.push(`user ${id} created`)
    const deadline = performance.now() + DELIVERY_MS
    while (!readers.every(({ reader }) => reader.seen.includes(`user ${id} created`))) {
      if (performance.now() > deadline) return void violations.push('I41 the feed stands still')
      for (const tick of [...ticks]) tick()
      await reading
      await realClock.sleep(2)
    }
  }

  async function checkBlocks(): Promise<void> {
    for await (const record of snapshot.blockHistories())
      if (blocks.has(record.id))
        violations.push(...checkBlockHistory(record).map(({ invariant, detail }) => `${invariant} ${detail}`))
    for (const [id, values] of blocks) {
      const kept = (await store.blocks.versions(organizationId, id))?.map(({ version }) => version) ?? []
      if (kept.length !== values.size) violations.push(`I40 ${id} had ${values.size} values and keeps ${kept.length}`)
      for (const version of kept.slice(1)) {
        const { value } = (await store.blocks.replaced(organizationId, id, version))!
        if (value !== values.get(version)) violations.push(`I40 ${id} keeps "${value}" as version ${version}`)
      }
    }
  }

  return {
    seed,
    violations: [...new Set(violations)],
    story,
    hash: createHash('sha256').update(story.join('\n')).digest('hex'),
    events: committed.length,
    runs: 0,
    faults: new Map(),
    reached: new Map([['a transaction that began earlier commits later', late]]),
    conversations: [],
  }
}

const countOf = (text: string, texts: readonly string[]): number => texts.filter((one) => one === text).length

const INSERT_USER = 'insert into users (id, organization_id, name, created_at) values ($1, $2, $1, 0)'

const INSERT_BLOCK = `insert into blocks (id, organization_id, label, value, char_limit, read_only, tags, metadata, is_template, version, created_at, updated_at)
  values ($1, $2, 'human', $3, 1000, 0, '[]', '{}', 0, 1, 0, 0)`
