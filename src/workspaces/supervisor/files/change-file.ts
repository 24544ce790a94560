import type { BigIntStats } from 'node:fs'
import type { KeyedMutex } from '../../../core/mutex.ts'
import type { EditedFile, FileEdit, WrittenFile } from '../../../ports/workspace-files.ts'
import type { Applied, AppliedKeys } from './applied-keys.ts'
import { applyPatch } from './apply-patch.ts'
import { FileRefusal, quoted } from './file-refusal.ts'
import { atPlace, type Place } from './find-place.ts'
import { notAFile, statAt, withFile } from './open-file.ts'
import { readWhole, requireWritable } from './read-file.ts'
import { replaceFile } from './replace-file.ts'
import { replaceText } from './replace-text.ts'
import { encodeText } from './text-encoding.ts'

/** What changes of the files of one workspace share. */
export type ChangeHome = {
  root: string
  inTurn: KeyedMutex
  keys: AppliedKeys
  spaceLeft(): number | undefined
}

/** How often something else may change the file between our reading and our writing of it. */
const MOST_ATTEMPTS = 5

type WriteWish = { path: string; text: string; key?: string }

export function writeFile(home: ChangeHome, { path, text, key }: WriteWish) {
  const bytes = Buffer.from(text, 'utf8')
  requireWritable(path, bytes.length)
  return change<WrittenFile>(home, { path, key, makeFolders: true }, async (place) => {
    const before = await statAt(place)
    return { bytes, before, result: { bytes: bytes.length, isNew: before === undefined } }
  })
}

type EditWish = { path: string; edit: FileEdit; key?: string }

export function editFile(home: ChangeHome, { path, edit, key }: EditWish) {
  return change<EditedFile>(home, { path, key, makeFolders: false }, (place) =>
    withFile(place, path, async (file) => {
      const { text, encoding } = await readWhole(path, file)
      const edited = edit.type === 'replace' ? replaceText(text, edit) : applyPatch(text, edit.patch)
      const bytes = encodeText(edited.text, encoding)
      requireWritable(path, bytes.length)
      const { replacements, line } = edited
      return { bytes, before: file.stats, result: { bytes: bytes.length, replacements, line } }
    }),
  )
}

type ChangeWish = { path: string; key: string | undefined; makeFolders: boolean }
type Change<Result> = { bytes: Buffer; before: BigIntStats | undefined; result: Result }

/** One change of a file at a time, and each key once. What else runs in the workspace may write too: then it is decided anew. */
async function change<Result extends WrittenFile | EditedFile>(
  home: ChangeHome,
  wish: ChangeWish,
  decide: (place: Place) => Promise<Change<Result>>,
): Promise<{ type: 'done' } & Result> {
  if (wish.key === undefined) return attempts()
  return home.inTurn(`key ${wish.key}`, async () => {
    const known = await home.keys.find(wish.key!)
    return known ? (known as unknown as { type: 'done' } & Result) : attempts()
  })

  async function attempts(): Promise<{ type: 'done' } & Result> {
    for (let count = 0; count < MOST_ATTEMPTS; count += 1) {
      const done = await atPlace({ root: home.root, ...wish }, async (place) =>
        home.inTurn(await turnOf(place), () => attempt(place)),
      )
      if (done) return done
    }
    const words = `Something else keeps changing ${quoted(wish.path)}. Nothing was written: try again when it is quiet.`
    throw new FileRefusal('refused', words)
  }

  async function attempt(place: Place): Promise<({ type: 'done' } & Result) | undefined> {
    const { path, key } = wish
    if (place.name === undefined) throw new FileRefusal('not-a-file', `${quoted(path)} is a folder.`)
    const found = await statAt(place)
    if (found?.isSymbolicLink()) return undefined
    if (found && !found.isFile()) throw notAFile(path, found)
    if (found && (found.mode & 0o200n) === 0n)
      throw new FileRefusal('refused', `${quoted(path)} is read-only. Make it writable first (chmod u+w).`)
    const { bytes, before, result } = await decide(place)
    requireSpace(bytes.length - Number(before?.size ?? 0))
    const done = { type: 'done' as const, ...result }
    return (await replaceFile({ place, path, bytes, before, applied: done as Applied, key }, home.keys))
      ? done
      : undefined
  }

  function requireSpace(growth: number): void {
    const left = home.spaceLeft()
    if (left !== undefined && growth > left)
      throw new FileRefusal(
        'refused',
        `The workspace may still grow by ${Math.max(0, left)} bytes, and this needs ${growth}. Nothing was changed: remove something first.`,
      )
  }
}

/** The same for every path that leads to the file, whether or not it is there yet. */
async function turnOf(place: Place): Promise<string> {
  const { dev, ino } = await place.folder.stat({ bigint: true })
  return `file ${dev} ${ino} ${place.name}`
}
