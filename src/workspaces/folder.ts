import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ConversationId } from '../core/id.ts'
import { WorkspaceError } from '../ports/workspaces.ts'

/** Where the parts of one workspace are, as the server sees them. Below `files` and `spool` the server opens nothing. */
export type Place = {
  folder: string
  files: string
  spool: string
  socket: string
  /** Who keeps it now. */
  keeper: string
  /** Where bubblewrap writes down what it started. */
  started: string
  about: string
}

type About = { createdAt: number }

const NAME = /^conv-[A-Za-z0-9-]{1,64}$/
const run = promisify(execFile)

export function placeOf(root: string, conversationId: ConversationId): Place {
  // It becomes a part of a path.
  if (!NAME.test(conversationId))
    throw new WorkspaceError('unavailable', `${conversationId.slice(0, 80)} is not the id of a conversation.`)
  return placeIn(join(root, conversationId))
}

const placeIn = (folder: string): Place => ({
  folder,
  files: join(folder, 'files'),
  spool: join(folder, 'spool'),
  socket: join(folder, 'supervisor.sock'),
  keeper: join(folder, 'supervisor.json'),
  started: join(folder, 'supervisor.started'),
  about: join(folder, 'workspace.json'),
})

export const exists = (place: Place): Promise<boolean> =>
  stat(place.folder).then(
    (found) => found.isDirectory(),
    () => false,
  )

/** Whole or not at all: it is made beside, and then gets its name. */
export async function makeFolder(root: string, place: Place, about: About): Promise<void> {
  const beside = placeIn(join(root, `.making-${randomBytes(6).toString('hex')}`))
  for (const folder of [beside.folder, beside.files, beside.spool, join(beside.folder, 'awaited')])
    await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(beside.about, JSON.stringify(about), { mode: 0o600 })
  try {
    await rename(beside.folder, place.folder)
  } catch (fault) {
    await removeTree(beside.folder)
    if (!(await exists(place))) throw fault
  }
}

export async function readAbout(place: Place): Promise<About> {
  try {
    return JSON.parse(await readFile(place.about, 'utf8')) as About
  } catch {
    return { createdAt: (await stat(place.folder)).birthtimeMs }
  }
}

export async function namesIn(root: string): Promise<ConversationId[]> {
  const names = await readdir(root, { withFileTypes: true }).catch(() => [])
  return names.filter((one) => one.isDirectory() && NAME.test(one.name)).map((one) => one.name as ConversationId)
}

/** It is gone for everybody when this resolves; what is left of it on the disk goes afterwards. */
export async function takeAway(root: string, place: Place): Promise<string> {
  const aside = join(root, `.removing-${randomBytes(6).toString('hex')}`)
  await rename(place.folder, aside)
  return aside
}

/** Nothing runs in it any more. `rm` goes down by descriptor: no depth is too deep and no link is followed. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await run('rm', ['-rf', '--', folder])
  } catch {
    // Folders an agent made unreadable for its own user.
    await run('chmod', ['-R', 'u+rwX', '--', folder]).catch(() => {})
    await run('rm', ['-rf', '--', folder])
  }
}

/** What a removal or a making that was interrupted left. */
export async function removeLeftovers(root: string): Promise<void> {
  const names = await readdir(root).catch(() => [])
  for (const name of names) {
    const path = join(root, name)
    const isForgotten = name.startsWith('.making-') && (await ageOf(path)) > FORGOTTEN_MS
    if (isForgotten || name.startsWith('.removing-')) await removeTree(path)
  }
}

/** Making one takes milliseconds. */
const FORGOTTEN_MS = 3_600_000

const ageOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  )
