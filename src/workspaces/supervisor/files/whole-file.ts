import type { WholeFile, WrittenFile } from '../../../ports/workspace-files.ts'
import { change, type FileChangeDeps } from './change-file.ts'
import { FileRefusal, quoted } from './file-refusal.ts'
import { statAt, withFile } from './open-file.ts'
import { withResolvedPath } from './resolve-path.ts'

/** Larger lines are refused by the connection, and base64 takes a third more. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024

type SaveRequest = { path: string; content: string; key?: string }

/** Writes bytes as they are. */
export function saveFile(deps: FileChangeDeps, { path, content, key }: SaveRequest) {
  const bytes = Buffer.from(content, 'base64')
  requireSize(path, bytes.length, MAX_WHOLE_BYTES)
  return change<WrittenFile>(deps, { path, key, makeFolders: true }, async (resolved) => {
    const before = await statAt(resolved)
    return { bytes, before, result: { bytes: bytes.length, isNew: before === undefined } }
  })
}

type LoadRequest = { path: string; most: number }

/** Reads bytes as they are: all of them, or none if the file changes meanwhile. */
export function loadFile(root: string, { path, most }: LoadRequest): Promise<WholeFile<string>> {
  return withResolvedPath({ root, path }, (resolved) =>
    withFile(resolved, path, async ({ handle, stats }) => {
      const size = Number(stats.size)
      requireSize(path, size, Math.min(most, MAX_WHOLE_BYTES))
      // One more: a file that grows is noticed, and one that grows endlessly is not read.
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(size + 1), 0, size + 1, 0)
      const { mtimeNs } = await handle.stat({ bigint: true })
      if (bytesRead !== size || mtimeNs !== stats.mtimeNs)
        throw new FileRefusal('refused', `${quoted(path)} changed while it was read. Try again when it is complete.`)
      return { content: buffer.toString('base64', 0, size) }
    }),
  )
}

function requireSize(path: string, bytes: number, most: number): void {
  if (bytes > most)
    throw new FileRefusal('too-large', `${quoted(path)} has ${bytes} bytes, and at most ${most} are allowed for this.`)
}
