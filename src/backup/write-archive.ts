import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { BackupNotice } from '../ports/backups.ts'
import { CHECKSUMS, checksumLine, MANIFEST } from './archive-layout.ts'
import { readablePath } from './byte-path.ts'
import { END_OF_ARCHIVE, encodeHeader, paddingOf, type TarEntry } from './tar-headers.ts'
import type { FoundEntry } from './walk-folder.ts'

const READ_BYTES = 256 * 1024
/** On text about 40 MB/s and half a percent larger than the default level, which takes twice as long. */
const LEVEL = 4

type ArchiveOptions = {
  /** Path of the archive, in a folder that is private to this backup. */
  file: string
  /** Collects the checksums, so that memory does not grow with the number of files. */
  checksumFile: string
  manifest: string
  entries: AsyncIterable<FoundEntry>
  isLinkAllowed(path: string): boolean
  now: number
}

type WrittenArchive = { files: number; bytes: number; notices: BackupNotice[] }

/** Streams the entries into a compressed tar archive and syncs it. */
export async function writeArchive(options: ArchiveOptions): Promise<WrittenArchive> {
  const written: Omit<WrittenArchive, 'bytes'> = { files: 0, notices: [] }
  const checksums = await open(options.checksumFile, 'wx', 0o600)
  const archive = await open(options.file, 'wx', 0o600)
  try {
    const blocks = Readable.from(archiveBlocks(options, { written, checksums }), { objectMode: false })
    await pipeline(blocks, createGzip({ level: LEVEL }), async (compressed: AsyncIterable<Buffer>) => {
      for await (const piece of compressed) await archive.writeFile(piece)
    })
    await archive.sync()
    return { ...written, bytes: (await archive.stat()).size }
  } finally {
    await archive.close()
    await checksums.close()
  }
}

type Progress = { written: Omit<WrittenArchive, 'bytes'>; checksums: FileHandle }

async function* archiveBlocks(
  { manifest, entries, checksumFile, isLinkAllowed, now }: ArchiveOptions,
  { written, checksums }: Progress,
): AsyncGenerator<Buffer> {
  const at = now / 1_000
  const text = Buffer.from(manifest)
  yield encodeHeader(ownFile(MANIFEST, text.length, at))
  yield text
  yield Buffer.alloc(paddingOf(text.length))
  const note = (path: string, detail: string) => void written.notices.push({ path: readablePath(path), detail })
  for await (const entry of entries) {
    if (entry.type === 'unreadable') note(entry.path, `not in the backup: ${entry.detail}`)
    else if (entry.type === 'link' && !isLinkAllowed(entry.path)) note(entry.path, 'not in the backup: it is a link')
    else if (entry.type === 'file') {
      const { hash, isCut } = yield* fileBlocks(entry)
      written.files++
      await checksums.write(checksumLine(entry.path, hash), null, 'latin1')
      if (isCut) note(entry.path, 'became shorter while it was copied; the rest is filled with zeros')
    } else yield encodeHeader(headerOf(entry, 0))
  }
  const { size } = await checksums.stat()
  yield encodeHeader(ownFile(CHECKSUMS, size, at))
  yield* createReadStream(checksumFile)
  yield Buffer.alloc(paddingOf(size))
  yield END_OF_ARCHIVE
}

/** As many bytes as the file had when it was opened: it may grow or shrink meanwhile. */
async function* fileBlocks(
  entry: Extract<FoundEntry, { type: 'file' }>,
): AsyncGenerator<Buffer, { hash: string; isCut: boolean }> {
  const { size } = entry.stats
  const hash = createHash('sha256')
  yield encodeHeader(headerOf(entry, size))
  let left = size
  let isCut = false
  while (left > 0) {
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, left))
    const found: number = isCut ? 0 : (await entry.handle.read(buffer, 0, buffer.length, size - left)).bytesRead
    isCut ||= found === 0
    const piece = isCut ? buffer.fill(0) : buffer.subarray(0, found)
    hash.update(piece)
    left -= piece.length
    yield piece
  }
  yield Buffer.alloc(paddingOf(size))
  return { hash: hash.digest('hex'), isCut }
}

const ownFile = (path: string, size: number, modifiedAt: number): TarEntry => ({
  path,
  type: 'file',
  size,
  mode: 0o600,
  modifiedAt,
  target: '',
})

const headerOf = (entry: Exclude<FoundEntry, { type: 'unreadable' }>, size: number): TarEntry => ({
  path: entry.path,
  type: entry.type,
  size,
  mode: entry.stats.mode & 0o777,
  modifiedAt: entry.stats.mtimeMs / 1_000,
  target: entry.type === 'link' ? entry.target : '',
})
