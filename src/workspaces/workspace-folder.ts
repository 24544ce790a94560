import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ConversationId } from '../core/id.ts'
import { WorkspaceError } from '../ports/workspaces.ts'

/** Where the parts of one workspace are, as the server sees them. Below `files` and `spool` the server opens nothing. */
export type WorkspacePaths = {
  folder: string
  files: string
  spool: string
  socket: string
  /** Who keeps it now. */
  supervisorPid: string
  /** Where bubblewrap writes down what it started. */
  bwrapInfo: string
  metadata: string
}

type WorkspaceMetadata = { createdAt: number }

const NAME = /^conv-[A-Za-z0-9-]{1,64}$/
const run = promisify(execFile)

export function workspacePaths(root: string, conversationId: ConversationId): WorkspacePaths {
  // It becomes a part of a path.
  if (!NAME.test(conversationId))
    throw new WorkspaceError('unavailable', `${conversationId.slice(0, 80)} is not the id of a conversation.`)
  return placeIn(join(root, conversationId))
}

const placeIn = (folder: string): WorkspacePaths => ({
  folder,
  files: join(folder, 'files'),
  spool: join(folder, 'spool'),
  socket: join(folder, 'supervisor.sock'),
  supervisorPid: join(folder, 'supervisor.json'),
  bwrapInfo: join(folder, 'supervisor.started'),
  metadata: join(folder, 'workspace.json'),
})

export const workspaceExists = (paths: WorkspacePaths): Promise<boolean> =>
  stat(paths.folder).then(
    (found) => found.isDirectory(),
    () => false,
  )

/** Whole or not at all: it is made beside, and then gets its name. */
export async function makeWorkspaceFolder(
  root: string,
  paths: WorkspacePaths,
  about: WorkspaceMetadata,
): Promise<void> {
  const beside = placeIn(join(root, `.making-${randomBytes(6).toString('hex')}`))
  for (const folder of [beside.folder, beside.files, beside.spool, join(beside.folder, 'awaited')])
    await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(beside.metadata, JSON.stringify(about), { mode: 0o600 })
  try {
    await rename(beside.folder, paths.folder)
  } catch (fault) {
    await removeTree(beside.folder)
    if (!(await workspaceExists(paths))) throw fault
  }
}

export async function readMetadata(paths: WorkspacePaths): Promise<WorkspaceMetadata> {
  try {
    return JSON.parse(await readFile(paths.metadata, 'utf8')) as WorkspaceMetadata
  } catch {
    return { createdAt: (await stat(paths.folder)).birthtimeMs }
  }
}

export async function listWorkspaceIds(root: string): Promise<ConversationId[]> {
  const names = await readdir(root, { withFileTypes: true }).catch(() => [])
  return names.filter((one) => one.isDirectory() && NAME.test(one.name)).map((one) => one.name as ConversationId)
}

/** It is gone for everybody when this resolves; what is left of it on the disk goes afterwards. */
export async function moveAside(root: string, paths: WorkspacePaths): Promise<string> {
  const aside = join(root, `.removing-${randomBytes(6).toString('hex')}`)
  await rename(paths.folder, aside)
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
