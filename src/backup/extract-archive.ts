import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chmod, lstat, mkdir, open, statfs, symlink } from 'node:fs/promises'
import { fateOf, mayHoldLinks } from '../core/home-files.ts'
import { syncFolder } from '../disk/atomic-write.ts'
import { ARCHIVE_FOLDER, ARCHIVED_HOME, CHECKSUMS, checksumLine, MANIFEST } from './archive-layout.ts'
import { type BytePath, bytePathOf, bytesOf, readablePath } from './byte-path.ts'
import { type ArchivedEntry, DamagedArchive, readArchive } from './read-archive.ts'

type ExtractOptions = {
  file: string
  /** An empty folder that is private to this process. */
  home: string
  /** Collects the checksums of what was written. */
  checksumFile: string
  /** Called before anything is written; refuses the archive by throwing. */
  acceptManifest(text: string): void
}

const MAX_OWN_FILE_BYTES = 1024 * 1024
const MAX_PATH_BYTES = 4_000
const MAX_NAME_BYTES = 255
const OWNER = 0o700

/** Extracts the home in a backup, and compares each file with its checksum. Returns the number of files. */
export async function extractArchive(options: ExtractOptions): Promise<number> {
  const { file, home, checksumFile, acceptManifest } = options
  const checksums = await open(checksumFile, 'wx', 0o600)
  const writer = newHomeWriter(home)
  let state: 'manifest' | 'home' | 'checksums' = 'manifest'
  let files = 0
  try {
    for await (const entry of readArchive(file)) {
      if (state === 'manifest') {
        if (entry.path !== MANIFEST) throw new DamagedArchive('its first entry is no manifest')
        acceptManifest((await readSmall(entry)).toString('utf8'))
        state = 'home'
      } else if (state === 'checksums') throw new DamagedArchive('it continues after its checksums')
      else if (entry.path === CHECKSUMS && entry.type === 'file') {
        await compareChecksums(entry, checksumFile)
        state = 'checksums'
      } else {
        const path = requireHomePath(entry)
        const hash = await writer.write(path, entry)
        if (hash === undefined) continue
        files++
        await checksums.write(checksumLine(`${ARCHIVED_HOME}/${path}`, hash), null, 'latin1')
      }
    }
    if (state !== 'checksums') throw new DamagedArchive('it is cut short')
    await writer.finish()
    return files
  } finally {
    await checksums.close()
  }
}

/** The path below the home; empty for the home itself. */
function requireHomePath({ path: given, type, target }: ArchivedEntry): BytePath {
  const path = type === 'folder' ? given.replace(/\/$/, '') : given
  const shown = JSON.stringify(readablePath(given).slice(0, 200))
  if (path === ARCHIVED_HOME && type === 'folder') return ''
  if (!path.startsWith(`${ARCHIVED_HOME}/`) || path.length > MAX_PATH_BYTES)
    throw new DamagedArchive(`${shown} is outside ${ARCHIVE_FOLDER}/home`)
  const below = path.slice(ARCHIVED_HOME.length + 1)
  const names = below.split('/')
  if (names.some((name) => name === '' || name === '.' || name === '..' || name.includes('\0')))
    throw new DamagedArchive(`${shown} leads outside the home`)
  if (names.some((name) => name.length > MAX_NAME_BYTES)) throw new DamagedArchive(`the name ${shown} is too long`)
  const fate = fateOf(names[0]!)
  if (fate === 'never' || fate === 'rebuilt' || (fate === 'database' && (below !== 'holdfast.db' || type !== 'file')))
    throw new DamagedArchive(`${shown} is not part of a backup`)
  if (type === 'link' && (!mayHoldLinks(below) || target === '' || target.includes('\0')))
    throw new DamagedArchive(`${shown} is a link outside the files of a workspace`)
  return below
}

/** A backup of an older version has files that others may read; what an agent made keeps its mode. */
const modeMask = (path: BytePath): number => (mayHoldLinks(path) ? 0o777 : 0o700)

/** Writes entries into a folder, each into a folder that the same archive created, and over nothing. */
function newHomeWriter(home: string) {
  const place = (path: BytePath) => Buffer.concat([Buffer.from(home), bytesOf(path === '' ? '' : `/${path}`)])
  /** Folders in which files could not be created; their mode is set at the end. */
  const closedFolders: { path: BytePath; mode: number }[] = []
  let openFolder: BytePath | undefined

  async function requireFolder(path: BytePath): Promise<void> {
    const folder = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : ''
    if (folder === openFolder) return
    // A link cannot be an ancestor: then the folder of an entry would be elsewhere.
    for (let end = folder.indexOf('/'); end !== -1; end = folder.indexOf('/', end + 1))
      await requireRealFolder(folder.slice(0, end))
    await requireRealFolder(folder)
    openFolder = folder
  }

  async function requireRealFolder(folder: BytePath): Promise<void> {
    const found = await lstat(place(folder)).catch(() => undefined)
    if (!found?.isDirectory())
      throw new DamagedArchive(`${JSON.stringify(readablePath(folder))} is used as a folder and is none`)
  }

  async function writeFile(path: BytePath, { size, mode, modifiedAt, content }: ArchivedEntry): Promise<string> {
    await requireRoom(home, size)
    const hash = createHash('sha256')
    const file = await open(place(path), 'wx', 0o600)
    try {
      for await (const piece of content) {
        hash.update(piece)
        await file.writeFile(piece)
      }
      await file.chmod(mode & modeMask(path))
      await file.utimes(modifiedAt, modifiedAt)
      await file.sync()
    } finally {
      await file.close()
    }
    return hash.digest('hex')
  }

  return {
    /** The hash of a file; undefined for anything else. */
    async write(path: BytePath, entry: ArchivedEntry): Promise<string | undefined> {
      if (path === '') return undefined
      await requireFolder(path)
      try {
        if (entry.type === 'file') return await writeFile(path, entry)
        if (entry.type === 'link') await symlink(bytesOf(entry.target), place(path))
        else {
          const mode = entry.mode & modeMask(path)
          await mkdir(place(path), { mode: mode | OWNER })
          if ((mode & OWNER) !== OWNER) closedFolders.push({ path, mode })
        }
        return undefined
      } catch (fault) {
        if ((fault as NodeJS.ErrnoException).code !== 'EEXIST') throw fault
        throw new DamagedArchive(`it has ${JSON.stringify(readablePath(path))} twice`)
      }
    },
    async finish(): Promise<void> {
      for (const { path, mode } of closedFolders.reverse()) await chmod(place(path), mode)
      await syncFolder(home)
    },
  }
}

/** Checked before a file is written: a header may claim any size. */
async function requireRoom(folder: string, size: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (size > bavail * bsize) throw Object.assign(new Error(`${size} bytes do not fit on the disk`), { code: 'ENOSPC' })
}

async function readSmall({ type, size, content }: ArchivedEntry): Promise<Buffer> {
  if (type !== 'file' || size > MAX_OWN_FILE_BYTES) throw new DamagedArchive('its manifest is damaged')
  const pieces: Buffer[] = []
  for await (const piece of content) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Line by line: the archive lists its files in the order in which it has them. */
async function compareChecksums({ content }: ArchivedEntry, checksumFile: string): Promise<void> {
  const computed = linesOf(createReadStream(checksumFile))
  for await (const listed of linesOf(content)) {
    const { value: line } = await computed.next()
    if (line === listed) continue
    const name = readablePath((line ?? listed).slice(66))
    throw new DamagedArchive(`the checksum of ${JSON.stringify(name.slice(0, 200))} is wrong`)
  }
  if (!(await computed.next()).done) throw new DamagedArchive('it has files without a checksum')
}

async function* linesOf(source: AsyncIterable<Buffer>): AsyncGenerator<BytePath, undefined> {
  let rest = ''
  for await (const piece of source) {
    const lines = (rest + bytePathOf(piece)).split('\n')
    rest = lines.pop()!
    if (rest.length > 2 * MAX_PATH_BYTES + 100) throw new DamagedArchive('its checksums are damaged')
    yield* lines
  }
  if (rest !== '') throw new DamagedArchive('its checksums are cut short')
}
