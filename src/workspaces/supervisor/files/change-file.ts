import type { BigIntStats } from 'node:fs'
import type { KeyedMutex } from '../../../core/mutex.ts'
import type { EditedFile, FileEdit, WrittenFile } from '../../../ports/workspace-files.ts'
import type { AppliedKeys, AppliedResult } from './applied-keys.ts'
import { applyPatch } from './apply-patch.ts'
import { FileRefusal, quoted } from './file-refusal.ts'
import { notAFileError, statAt, withFile } from './open-file.ts'
import { readWhole, requireEditableSize } from './read-file.ts'
import { replaceFile } from './replace-file.ts'
import { replaceText } from './replace-text.ts'
import { type ResolvedPath, withResolvedPath } from './resolve-path.ts'
import { encodeText } from './text-encoding.ts'

/** Shared by all file changes of one workspace. */
export type FileChangeDeps = {
  root: string
  mutex: KeyedMutex
  keys: AppliedKeys
  spaceLeft(): number | undefined
}

/** How often another process may change the file between our read and our write. */
const MAX_ATTEMPTS = 5

type WriteFileRequest = { path: string; text: string; key?: string }

export function writeFile(deps: FileChangeDeps, { path, text, key }: WriteFileRequest) {
  const bytes = Buffer.from(text, 'utf8')
  requireEditableSize(path, bytes.length)
  return change<WrittenFile>(deps, { path, key, makeFolders: true }, async (resolved) => {
    const before = await statAt(resolved)
    return { bytes, before, result: { bytes: bytes.length, isNew: before === undefined } }
  })
}

type EditFileRequest = { path: string; edit: FileEdit; key?: string }

export function editFile(deps: FileChangeDeps, { path, edit, key }: EditFileRequest) {
  return change<EditedFile>(deps, { path, key, makeFolders: false }, (resolved) =>
    withFile(resolved, path, async (file) => {
      const { text, encoding } = await readWhole(path, file)
      const edited = edit.type === 'replace' ? replaceText(text, edit) : applyPatch(text, edit.patch)
      const bytes = encodeText(edited.text, encoding)
      requireEditableSize(path, bytes.length)
      const { replacements, line } = edited
      return { bytes, before: file.stats, result: { bytes: bytes.length, replacements, line } }
    }),
  )
}

type FileChangeRequest = { path: string; key: string | undefined; makeFolders: boolean }
type FileChange<Result> = { bytes: Buffer; before: BigIntStats | undefined; result: Result }

/**
 * One change per file at a time, and one per key. If a command changes the file meanwhile, the change is prepared
 * again.
 */
export async function change<Result extends WrittenFile | EditedFile>(
  deps: FileChangeDeps,
  request: FileChangeRequest,
  prepare: (resolved: ResolvedPath) => Promise<FileChange<Result>>,
): Promise<{ type: 'done' } & Result> {
  if (request.key === undefined) return attemptAll()
  return deps.mutex(`key ${request.key}`, async () => {
    const known = await deps.keys.find(request.key!)
    return known ? (known as unknown as { type: 'done' } & Result) : attemptAll()
  })

  async function attemptAll(): Promise<{ type: 'done' } & Result> {
    for (let count = 0; count < MAX_ATTEMPTS; count += 1) {
      const done = await withResolvedPath({ root: deps.root, ...request }, async (resolved) =>
        deps.mutex(await lockKeyOf(resolved), () => attemptOnce(resolved)),
      )
      if (done) return done
    }
    const message = `Something else keeps changing ${quoted(request.path)}. Nothing was written: try again when it is quiet.`
    throw new FileRefusal('refused', message)
  }

  async function attemptOnce(resolved: ResolvedPath): Promise<({ type: 'done' } & Result) | undefined> {
    const { path, key } = request
    if (resolved.name === undefined) throw new FileRefusal('not-a-file', `${quoted(path)} is a folder.`)
    const found = await statAt(resolved)
    if (found?.isSymbolicLink()) return undefined
    if (found && !found.isFile()) throw notAFileError(path, found)
    if (found && (found.mode & 0o200n) === 0n)
      throw new FileRefusal('refused', `${quoted(path)} is read-only. Make it writable first (chmod u+w).`)
    const { bytes, before, result } = await prepare(resolved)
    requireSpace(bytes.length - Number(before?.size ?? 0))
    const done = { type: 'done' as const, ...result }
    return (await replaceFile({ resolved, path, bytes, before, applied: done as AppliedResult, key }, deps.keys))
      ? done
      : undefined
  }

  function requireSpace(growth: number): void {
    const left = deps.spaceLeft()
    if (left !== undefined && growth > left)
      throw new FileRefusal(
        'refused',
        `The workspace may still grow by ${Math.max(0, left)} bytes, and this needs ${growth}. Nothing was changed: remove something first.`,
      )
  }
}

/** The same key for every path to the file, whether or not the file exists. */
async function lockKeyOf(resolved: ResolvedPath): Promise<string> {
  const { dev, ino } = await resolved.folder.stat({ bigint: true })
  return `file ${dev} ${ino} ${resolved.name}`
}
