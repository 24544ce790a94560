import { createWriteStream, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { newMutex } from '../core/mutex.ts'
import { Problem } from '../core/problem.ts'

/** Agent files with years of history reach this size. */
export const FILE_LIMIT = 64 * 1024 * 1024
/** Files on disk at once, of all callers and of one. */
const MAX_UPLOADS = 16
const MAX_UPLOADS_PER_CALLER = 4

export type Uploads = {
  /** Streams a file to disk, waits until no other file is in memory, and reads it. */
  receive<T>(from: Readable, upload: Upload<T>): Promise<T>
  close(): void
}

type Upload<T> = {
  caller: string
  read(bytes: Buffer): T
  /** Calls `release` when the answer is sent: then the next file is read into memory. */
  whenAnswered(release: () => void): void
}

/** Files that clients upload: on disk while they arrive, one at a time in memory. Leftovers are removed at start. */
export function newUploads(folder?: string): Uploads {
  const place = folder ? emptied(folder) : mkdtempSync(join(tmpdir(), 'holdfast-uploads-'))
  const oneAtATime = newMutex()
  const callers: string[] = []

  function readInTurn<T>(path: string, { read, whenAnswered }: Upload<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      void oneAtATime(async () => {
        try {
          resolve(read(await readFile(path)))
          await new Promise<void>(whenAnswered)
        } catch (fault) {
          reject(fault)
        }
      })
    })
  }

  return {
    async receive(from, upload) {
      const { caller } = upload
      if (callers.length >= MAX_UPLOADS || callers.filter((one) => one === caller).length >= MAX_UPLOADS_PER_CALLER)
        throw new Problem(
          'queue-full',
          `Too many files arrive at once: at most ${MAX_UPLOADS_PER_CALLER} per key and ${MAX_UPLOADS} in all. Try again in a moment.`,
        )
      callers.push(caller)
      const path = join(place, crypto.randomUUID())
      try {
        await save(from, path)
        return await readInTurn(path, upload)
      } finally {
        callers.splice(callers.indexOf(caller), 1)
        await rm(path, { force: true })
      }
    },
    close: () => rmSync(place, { recursive: true, force: true }),
  }
}

function emptied(folder: string): string {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return folder
}

/** `from` is not destroyed after a file that is too large: the client still gets its answer on that connection. */
async function save(from: Readable, path: string): Promise<void> {
  const chunks = from.iterator({ destroyOnReturn: false })
  try {
    await pipeline(() => bounded(chunks), createWriteStream(path, { mode: 0o600, flags: 'wx' }))
  } catch (fault) {
    if (fault instanceof Problem || !from.errored) throw fault
    throw new Problem('caller-left', 'The connection ended before the whole file arrived.')
  } finally {
    from.resume()
  }
}

async function* bounded(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > FILE_LIMIT) throw fileTooLarge()
    yield chunk
  }
}

export const fileTooLarge = () => new Problem('too-large', `The file is larger than ${FILE_LIMIT} bytes.`)
