import { accessSync, constants, existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Durability } from '../core/durability.ts'
import { bootId } from '../disk/boot-id.ts'
import { makeFilePrivate } from '../disk/private-file.ts'
import type { ChunkStore } from '../ports/chunk-store.ts'
import type { Clock } from '../ports/clock.ts'
import { StorageError } from '../ports/storage-error.ts'
import type { Store } from '../ports/store.ts'
import type { Database } from './database/database.ts'
import { SQLITE } from './database/dialect.ts'
import { faultOf, toStorageError } from './database/faults.ts'
import { groupCommit } from './database/group-commit.ts'
import { takeOwnerLock } from './database/owner-lock.ts'
import { readCommitted, type SqliteConnection, sqliteConnection } from './database/sqlite-connection.ts'
import { MIGRATIONS } from './migrations/all.ts'
import { migrateSqlite, newestOf, sqliteVersion } from './migrations/migrate.ts'
import type { Migration } from './migrations/migration.ts'
import { chunkStore, SENTINEL } from './runs/chunks.ts'
import type { StoreOwnership } from './runs/workers.ts'
import { assembleStore, type OpenedStore } from './store.ts'

export type SqliteOptions = {
  home: string
  clock: Clock
  durability: Durability
  /** The owner runs turns; a guest reads, and appends requests to runs (cancel, steer, approval). */
  role: 'owner' | 'guest'
  migrations?: readonly Migration[]
}

const FOREIGN_WRITE_POLL_MS = 25
const BUSY_TIMEOUT_MS = 5000
/** 32 MB of WAL: a page that many commits change is copied back once (measured: a third less CPU than at 1000). */
const CHECKPOINT_PAGES = 8_000
const CACHE_KIB = 65_536
/** Size to which the WAL file is truncated at the checkpoint after a burst of writes. */
const LOG_SIZE_LIMIT = 64 * 1024 * 1024

export async function openSqliteStore(options: SqliteOptions): Promise<OpenedStore> {
  const { home, clock, durability, role } = options
  const file = join(home, 'holdfast.db')
  const cleanUp: (() => void)[] = []
  try {
    if (role === 'owner') {
      mkdirSync(home, { recursive: true, mode: 0o700 })
      // Checked first because SQLite reports only that it cannot open the file, and not why.
      accessSync(home, constants.W_OK)
      const lock = takeOwnerLock(join(home, 'owner.lock'), home)
      cleanUp.unshift(() => lock.release())
    } else if (!existsSync(file)) {
      const detail = 'no server has run in this home yet. Start one with `holdfast serve`.'
      throw new StorageError('unreachable', `${file} does not exist: ${detail}`)
    }

    const isNewHome = !existsSync(file)
    makeFilePrivate(file)
    const writer = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS })
    cleanUp.unshift(() => writer.close())
    prepareFile(writer, durability === 'strict' ? 'full' : 'normal')
    bringUpToDate(writer, { ...options, file })
    const reader = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS })
    cleanUp.unshift(() => reader.close())
    const chunks = openChunks(join(home, 'chunks.db'), { clock, isNewHome })

    return sqliteStore({
      writer: sqliteConnection(writer, file),
      reader: sqliteConnection(reader, file),
      chunks,
      clock,
      ownership: role === 'owner' ? 'sole' : 'peer',
      closeFiles() {
        for (const close of cleanUp) close()
      },
    })
  } catch (error) {
    for (const close of cleanUp) close()
    throw toStorageError(error, file)
  }
}

type SharedSqliteOptions = {
  /** Already open, possibly shared by several stores: a simulated cluster in one process. Stays open. */
  database: DatabaseSync
  chunkDatabase?: DatabaseSync
  clock: Clock
  ownership: StoreOwnership
}

/** A store on a database that the caller opened, for example `:memory:`. */
export async function shareSqliteStore(options: SharedSqliteOptions): Promise<OpenedStore> {
  const { database, chunkDatabase = database, clock, ownership } = options
  const location = database.location() ?? 'the database in memory'
  try {
    migrateSqlite(database, { track: 'store', migrations: MIGRATIONS.store, clock, location })
    migrateSqlite(chunkDatabase, { track: 'chunks', migrations: MIGRATIONS.chunks, clock, location })
  } catch (error) {
    throw toStorageError(error, location)
  }
  const connection = sqliteConnection(database, location)
  const chunks = newSqliteChunkStore(sqliteConnection(chunkDatabase, location), () => {})
  return sqliteStore({ writer: connection, reader: connection, chunks, clock, ownership, closeFiles: () => {} })
}

type SqliteStoreDeps = {
  writer: SqliteConnection
  /** The same as `writer` if there is only one connection. */
  reader: SqliteConnection
  chunks: ChunkStore
  clock: Clock
  ownership: StoreOwnership
  closeFiles(): void
}

function sqliteStore({ writer, reader, chunks, clock, ownership, closeFiles }: SqliteStoreDeps): OpenedStore {
  let isClosed = false
  const foreign = foreignWrites(writer, clock)
  const commits = groupCommit({ transact: writer.transact, soon: clock.soon, announce: foreign.notifyOthers })
  const database: Database = {
    dialect: SQLITE,
    write: commits.write,
    read: reader === writer ? reader.exclusively : readCommitted(writer, reader),
    readSnapshot: reader.readSnapshot,
  }
  return assembleStore({
    database,
    chunks,
    clock,
    ownership,
    onForeignWrite: foreign.listen,
    emptyLog: () => writer.database.exec(EMPTY_LOG),
    async close() {
      foreign.stop()
      if (isClosed) return
      isClosed = true
      await commits.close()
      closeFiles()
    },
  })
}

function prepareFile(database: DatabaseSync, synchronous: 'full' | 'normal' | 'off'): void {
  database.exec('pragma journal_mode = wal')
  database.exec(`pragma synchronous = ${synchronous}`)
  // Deleted text is overwritten: it must not stay in free pages.
  database.exec('pragma secure_delete = on')
  database.exec(`pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  database.exec(`pragma cache_size = -${CACHE_KIB}`)
  database.exec(`pragma journal_size_limit = ${LOG_SIZE_LIMIT}`)
}

function bringUpToDate(writer: DatabaseSync, options: SqliteOptions & { file: string }): void {
  const { clock, role, file, migrations = MIGRATIONS.store } = options
  if (role === 'owner') {
    migrateSqlite(writer, { track: 'store', migrations, clock, location: file, file })
    return
  }
  const version = sqliteVersion(writer, { track: 'store', migrations, location: file })
  if (version < newestOf(migrations))
    throw new StorageError(
      'unreachable',
      `${file} was written by an older Holdfast. Stop the server and start this version to upgrade it.`,
    )
}

/** The chunk log is expendable: a power cut may damage it, and it can be written again from the event log. */
function openChunks(file: string, { clock, isNewHome }: { clock: Clock; isNewHome: boolean }): ChunkStore {
  const replaces = isNewHome || existsSync(file) ? 'nothing' : 'a-lost-one'
  try {
    return openChunkFile(file, { clock, replaces })
  } catch (error) {
    if (faultOf(error) !== 'corrupt') throw toStorageError(error, file)
    setAside(file, clock.now())
    return openChunkFile(file, { clock, replaces: 'a-lost-one' })
  }
}

type ChunkFile = { clock: Clock; replaces: 'nothing' | 'a-lost-one' }

function openChunkFile(file: string, { clock, replaces }: ChunkFile): ChunkStore {
  makeFilePrivate(file)
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS })
  try {
    prepareFile(database, 'off')
    migrateSqlite(database, { track: 'chunks', migrations: MIGRATIONS.chunks, clock, location: file })
    // Without the sentinel, a missing head counts as a loss: the file that held it is gone.
    if (replaces === 'a-lost-one') database.exec(`delete from stream_heads where run_id = '${SENTINEL}'`)
    const stamp = `update stream_heads set boot_id = ? where run_id = '${SENTINEL}' and boot_id = ''`
    database.prepare(stamp).run(bootId())
    return newSqliteChunkStore(sqliteConnection(database, file), () => {
      if (database.isOpen) database.close()
    })
  } catch (error) {
    database.close()
    throw error
  }
}

function newSqliteChunkStore(connection: SqliteConnection, close: () => void): ChunkStore {
  const { transact, exclusively, runSync, database } = connection
  return chunkStore({
    transact,
    read: exclusively,
    runSync,
    bootId: bootId(),
    emptyLog: () => exclusively(() => void database.exec(EMPTY_LOG)),
    close: () => exclusively(close),
  })
}

function setAside(file: string, now: number): void {
  for (const ending of ['', '-wal', '-shm'])
    if (existsSync(file + ending)) renameSync(file + ending, `${file}.damaged-${now}${ending}`)
}

/** Copies the log into the file, and truncates it unless another connection reads it. */
const EMPTY_LOG = 'pragma wal_checkpoint(truncate)'

type ForeignWrites = { listen: Store['onForeignWrite']; notifyOthers(): void; stop(): void }

/** Detects writes of other processes by polling `data_version`; other stores on the same connection notify directly. */
function foreignWrites({ database, listeners: shared }: SqliteConnection, clock: Clock): ForeignWrites {
  const listeners = new Set<() => void>()
  const notifyListeners = () => {
    for (const listener of [...listeners]) listener()
  }
  const read = database.prepare('pragma data_version')
  const version = () => Number(read.get()?.data_version)
  let seen = 0
  let stopPolling: (() => void) | undefined

  function start(): void {
    seen = version()
    shared.add(notifyListeners)
    stopPolling = clock.every(FOREIGN_WRITE_POLL_MS, () => {
      const current = version()
      if (current === seen) return
      seen = current
      notifyListeners()
    })
  }

  function stop(): void {
    shared.delete(notifyListeners)
    stopPolling?.()
    stopPolling = undefined
  }

  return {
    listen(listener) {
      listeners.add(listener)
      if (!stopPolling) start()
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) stop()
      }
    },
    notifyOthers() {
      for (const notify of shared) if (notify !== notifyListeners) clock.soon(notify)
    },
    stop,
  }
}
