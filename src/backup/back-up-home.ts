import { lstatSync, realpathSync } from 'node:fs'
import { link, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve, sep } from 'node:path'
import { fateOf, isKeptInHome, isKeptInWorkspaces, mayHoldLinks } from '../core/home-files.ts'
import { Problem } from '../core/problem.ts'
import { syncFolder } from '../disk/atomic-write.ts'
import type { BackupManifest, BackupNotice, BackupReport, BackupRequest, CheckedDatabase } from '../ports/backups.ts'
import type { Clock } from '../ports/clock.ts'
import { ARCHIVED_HOME, FORMAT } from './archive-layout.ts'
import { bytePathOf } from './byte-path.ts'
import { writeLastBackup } from './last-backup.ts'
import { type FoundEntry, walkFolder } from './walk-folder.ts'
import { newWorkFolder } from './work-folder.ts'
import { writeArchive } from './write-archive.ts'

type BackupsDeps = {
  home: string
  workspacesFolder: string
  clock: Pick<Clock, 'now'>
  /** Number of the newest migration. */
  migrations: number
  database: BackedUpDatabase
}

type BackedUpDatabase =
  /** `copyTo` writes the database into a folder, `check` runs doctor on the home that this folder is then. */
  | { type: 'sqlite'; copyTo(folder: string): Promise<void>; check(folder: string): Promise<CheckedDatabase> }
  /** `check` runs doctor on the database itself, which is not in the backup. */
  | { type: 'postgres'; check(): Promise<CheckedDatabase> }

/**
 * The database first, then the files: a tool call that is committed has written its files before, so everything that the copy
 * of the database mentions is in the copy of the files.
 */
export async function backUpHome(request: BackupRequest, deps: BackupsDeps): Promise<BackupReport> {
  const file = resolve(request.file)
  requireTarget(file, request, deps)
  const folder = await newWorkFolder(file).catch((fault) => {
    throw writeProblem(file, fault)
  })
  try {
    const createdAt = deps.clock.now()
    const { counts, violations } = await copyAndCheck(deps.database, folder)
    const manifest: BackupManifest = {
      format: FORMAT,
      version: request.version,
      created_at: new Date(createdAt).toISOString(),
      database: deps.database.type,
      migrations: deps.migrations,
      counts,
      violations,
      secret_key: request.withSecretKey && (await isPresent(join(deps.home, 'secret.key'))),
      workspaces: request.withWorkspaces,
    }
    const unknown: BackupNotice[] = []
    const written = await writeArchive({
      file: join(folder, 'archive'),
      checksumFile: join(folder, 'checksums'),
      manifest: `${JSON.stringify(manifest, null, 2)}\n`,
      entries: entriesOf(request, { ...deps, copy: folder, unknown }),
      isLinkAllowed: (path) => mayHoldLinks(path.slice(ARCHIVED_HOME.length + 1)),
      now: createdAt,
    })
    await putInPlace(join(folder, 'archive'), file, request.replace)
    const notices = [...unknown, ...written.notices]
    const { bytes, files } = written
    await writeLastBackup(deps.home, { at: createdAt, file, bytes }).catch((fault) =>
      notices.push({ path: 'last-backup.json', detail: `could not be written: ${(fault as Error).message}` }),
    )
    return { file, bytes, files, manifest, notices }
  } catch (fault) {
    throw writeProblem(file, fault)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function copyAndCheck(database: BackedUpDatabase, folder: string): Promise<CheckedDatabase> {
  if (database.type === 'postgres') return database.check()
  await database.copyTo(folder)
  return database.check(folder)
}

type EntrySources = Pick<BackupsDeps, 'home' | 'workspacesFolder' | 'database'> & {
  /** The folder with the copy of the database. */
  copy: string
  unknown: BackupNotice[]
}

async function* entriesOf(
  { withSecretKey, withWorkspaces }: BackupRequest,
  { home, workspacesFolder, database, copy, unknown }: EntrySources,
): AsyncGenerator<FoundEntry> {
  yield { type: 'folder', path: ARCHIVED_HOME, stats: await stat(home) }
  if (database.type === 'sqlite') yield* oneEntry(join(copy, 'holdfast.db'), 'holdfast.db')
  for (const name of (await readdir(home)).sort()) {
    const fate = fateOf(name)
    if (fate === undefined)
      unknown.push({ path: name, detail: 'is no file of this version of Holdfast; it was copied as it is' })
    if (fate === undefined || fate === 'copied' || (fate === 'on-request' && withSecretKey))
      yield* oneEntry(join(home, name), name)
  }
  if (!withWorkspaces || !(await isFolder(workspacesFolder))) return
  const path = `${ARCHIVED_HOME}/workspaces`
  const isKept = (found: string) => isKeptInWorkspaces(found.slice(path.length + 1))
  yield* walkFolder(workspacesFolder, { path, isKept })
}

/** A link at the top of a home was made by its operator and is followed, unlike all links below. */
async function* oneEntry(place: string, name: string): AsyncGenerator<FoundEntry> {
  const path = `${ARCHIVED_HOME}/${bytePathOf(name)}`
  const stats = await stat(place).catch(() => undefined)
  if (stats?.isDirectory()) yield* walkFolder(place, { path, isKept: isKeptInHome })
  if (!stats?.isFile()) return
  const handle = await open(place)
  try {
    yield { type: 'file', path, stats: await handle.stat(), handle }
  } finally {
    await handle.close()
  }
}

const isPresent = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )

function requireTarget(file: string, { replace }: BackupRequest, { home, workspacesFolder }: BackupsDeps): void {
  const parent = realPathOf(dirname(file))
  if (parent === undefined)
    throw new Problem('invalid', `The folder ${dirname(file)} does not exist. Create it, or choose another file.`)
  for (const folder of [home, workspacesFolder]) {
    const real = realPathOf(folder)
    if (real !== undefined && `${parent}${sep}`.startsWith(`${real}${sep}`))
      throw new Problem('invalid', `${file} is inside ${folder}, and would be lost with it. Choose a file elsewhere.`)
  }
  const existing = lstatSync(file, { throwIfNoEntry: false })
  if (existing && !existing.isFile()) throw new Problem('invalid', `${file} is not a file. Choose another name.`)
  if (existing && !replace) throw alreadyExists(file)
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

async function putInPlace(from: string, file: string, replace: boolean): Promise<void> {
  if (replace) await rename(from, file)
  // Unlike a rename, a link never replaces a file that another process has created meanwhile.
  else
    await link(from, file).catch(async (fault: NodeJS.ErrnoException) => {
      if (fault.code === 'EEXIST') throw alreadyExists(file)
      // Some file systems have no hard links.
      await rename(from, file)
    })
  await syncFolder(dirname(file))
}

const alreadyExists = (file: string) =>
  new Problem('conflict', `${file} exists already. Choose another name, or replace it with --force.`)

const WRITE_FAULTS: Record<string, string> = {
  ENOSPC: 'the disk is full. A backup needs room for a copy of the database beside it while it is written',
  EDQUOT: 'the disk quota is exceeded',
  EFBIG: 'the file would be larger than this process may write',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
}

/** Other errors are returned unchanged. */
function writeProblem(file: string, fault: unknown): unknown {
  const reason = WRITE_FAULTS[(fault as NodeJS.ErrnoException).code ?? '']
  if (fault instanceof Problem || reason === undefined) return fault
  return new Problem('unavailable', `${file} was not written: ${reason}. Nothing was changed.`)
}
