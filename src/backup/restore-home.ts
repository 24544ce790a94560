import { mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Problem } from '../core/problem.ts'
import { syncFolder } from '../disk/atomic-write.ts'
import type { BackupManifest, BackupNotice, CheckedRestoredDatabase, RestoreReport } from '../ports/backups.ts'
import { extractArchive } from './extract-archive.ts'
import { writeLastBackup } from './last-backup.ts'
import { parseManifest } from './manifest.ts'
import { DamagedArchive } from './read-archive.ts'
import { newWorkFolder } from './work-folder.ts'

type RestoreDeps = {
  home: string
  /** Number of the newest migration that this version knows. */
  migrations: number
  /** The database that this environment names. */
  database: BackupManifest['database']
  /** Runs doctor with the database in this folder, or on PostgreSQL; finds what its keys cannot decrypt. */
  check(folder: string): Promise<CheckedRestoredDatabase>
}

/** Restores a backup: everything is extracted and checked beside the home, which then appears with one rename. */
export async function restoreHome(given: string, deps: RestoreDeps): Promise<RestoreReport> {
  const file = resolve(given)
  const { home } = deps
  await requireFile(file)
  await requireEmpty(home)
  await mkdir(dirname(home), { recursive: true, mode: 0o700 })
  const work = await newWorkFolder(home)
  try {
    const extracted = join(work, 'home')
    await mkdir(extracted, { mode: 0o700 })
    let manifest: BackupManifest | undefined
    const files = await extractArchive({
      file,
      home: extracted,
      checksumFile: join(work, 'checksums'),
      acceptManifest(text) {
        manifest = parseManifest(text, { file, ...deps })
      },
    })
    const checked = await checkApart({ work, extracted }, deps)
    const { size } = await stat(file)
    await writeLastBackup(extracted, { at: Date.parse(manifest!.created_at), file, bytes: size })
    await putInPlace(extracted, home)
    const { counts, violations, unreadable } = checked
    const notices = noticesAbout(manifest!, checked)
    return { home, manifest: manifest!, files, counts, violations, unreadable, notices }
  } catch (fault) {
    throw restoreProblem(file, home, fault)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** In a folder of its own: opening a database adds files (locks, a new chunk log), which the home must not begin with. */
async function checkApart(
  { work, extracted }: { work: string; extracted: string },
  { check, database }: RestoreDeps,
): ReturnType<RestoreDeps['check']> {
  const apart = join(work, 'check')
  await mkdir(apart, { mode: 0o700 })
  const names = ['secret.key', ...(database === 'sqlite' ? ['holdfast.db'] : [])]
  const moved = (await readdir(extracted)).filter((name) => names.includes(name))
  if (database === 'sqlite' && !moved.includes('holdfast.db')) throw new DamagedArchive('it has no database')
  for (const name of moved) await rename(join(extracted, name), join(apart, name))
  const checked = await check(apart)
  for (const name of moved) await rename(join(apart, name), join(extracted, name))
  return checked
}

function noticesAbout(
  { database, created_at, workspaces }: BackupManifest,
  { newestRunAt }: { newestRunAt: number | undefined },
): BackupNotice[] {
  const notices: BackupNotice[] = []
  if (!workspaces) notices.push({ path: 'workspaces', detail: 'the backup was made without them' })
  if (database === 'postgres' && newestRunAt !== undefined && newestRunAt > Date.parse(created_at))
    notices.push({
      path: 'DATABASE_URL',
      detail:
        `the database has runs from ${new Date(newestRunAt).toISOString()}, after these files were copied ` +
        `(${created_at}): notes, outputs and workspaces of the time between are missing`,
    })
  return notices
}

async function requireFile(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined)
  if (!found) throw new Problem('not-found', `There is no file ${file}.`)
  if (!found.isFile()) throw new Problem('invalid', `${file} is not a file.`)
}

async function requireEmpty(home: string): Promise<void> {
  const names = await readdir(home).catch((fault: NodeJS.ErrnoException) => {
    if (fault.code === 'ENOENT') return []
    throw fault.code === 'ENOTDIR' ? new Problem('invalid', `${home} is a file. Set HOLDFAST_HOME to a folder.`) : fault
  })
  if (names.length > 0) throw notEmpty(home)
}

const notEmpty = (home: string) =>
  new Problem(
    'conflict',
    `The home ${home} is not empty, and a restore replaces nothing. Move it away, or set HOLDFAST_HOME to a new folder.`,
  )

/** Replaces an empty folder, or creates the home. */
async function putInPlace(extracted: string, home: string): Promise<void> {
  await rmdir(home).catch((fault: NodeJS.ErrnoException) => {
    if (fault.code === 'ENOTEMPTY') throw notEmpty(home)
    if (fault.code !== 'ENOENT') throw fault
  })
  await rename(extracted, home)
  await syncFolder(dirname(home))
}

const DISK_FAULTS: Record<string, string> = {
  ENOSPC: 'the disk is full, or a file in the backup is larger than the free space',
  EDQUOT: 'the disk quota is exceeded',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  EBUSY: 'it is a mount point, which cannot be replaced. Restore into a folder in it, and set HOLDFAST_HOME to that',
  EXDEV: 'it is a mount point, which cannot be replaced. Restore into a folder in it, and set HOLDFAST_HOME to that',
}

function restoreProblem(file: string, home: string, fault: unknown): unknown {
  if (fault instanceof DamagedArchive)
    return new Problem('invalid', `${file} cannot be restored: ${fault.message}. Nothing was written to ${home}.`)
  const reason = DISK_FAULTS[(fault as NodeJS.ErrnoException).code ?? '']
  if (fault instanceof Problem || reason === undefined) return fault
  return new Problem('unavailable', `${home} was not restored: ${reason}. Nothing was written to it.`)
}
