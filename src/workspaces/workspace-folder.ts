import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ConversationId } from '../core/id.ts'
import { WorkspaceError } from '../ports/workspaces.ts'

/** Paths of one workspace, as the server sees them. The server opens nothing below `files` and `spool`. */
export type WorkspacePaths = {
  folder: string
  files: string
  spool: string
  socket: string
  /** Names the process of the supervisor that runs now. */
  supervisorPid: string
  /** Written by bubblewrap's `--info-fd`: the pid of the sandbox's first process. */
  bwrapInfo: string
  metadata: string
}

type WorkspaceMetadata = { createdAt: number }

const NAME = /^conv-[A-Za-z0-9-]{1,64}$/
const run = promisify(execFile)

export function workspacePaths(root: string, conversationId: ConversationId): WorkspacePaths {
  // The id becomes a part of a path.
  if (!NAME.test(conversationId))
    throw new WorkspaceError('unavailable', `"${conversationId.slice(0, 80)}" is not a conversation id.`)
  return pathsIn(join(root, conversationId))
}

const pathsIn = (folder: string): WorkspacePaths => ({
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

/** Atomic: creates the folder under a temporary name, then renames it. */
export async function makeWorkspaceFolder(
  root: string,
  paths: WorkspacePaths,
  metadata: WorkspaceMetadata,
): Promise<void> {
  const temporary = pathsIn(join(root, `.making-${randomBytes(6).toString('hex')}`))
  for (const folder of [temporary.folder, temporary.files, temporary.spool, join(temporary.folder, 'awaited')])
    await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(temporary.metadata, JSON.stringify(metadata), { mode: 0o600 })
  try {
    await rename(temporary.folder, paths.folder)
  } catch (fault) {
    await removeTree(temporary.folder)
    if (!(await workspaceExists(paths))) throw fault
  }
}

/** Undefined if the workspace was removed meanwhile. */
export async function readMetadata(paths: WorkspacePaths): Promise<WorkspaceMetadata | undefined> {
  try {
    return JSON.parse(await readFile(paths.metadata, 'utf8')) as WorkspaceMetadata
  } catch {
    const folder = await stat(paths.folder).catch(() => undefined)
    return folder && { createdAt: folder.birthtimeMs }
  }
}

export async function listWorkspaceIds(root: string): Promise<ConversationId[]> {
  const names = await readdir(root, { withFileTypes: true }).catch(() => [])
  return names.filter((one) => one.isDirectory() && NAME.test(one.name)).map((one) => one.name as ConversationId)
}

/** Renames the workspace, so that no process finds it any more; the caller deletes the renamed folder. */
export async function moveAside(root: string, paths: WorkspacePaths): Promise<string> {
  const aside = join(root, `.removing-${randomBytes(6).toString('hex')}`)
  await rename(paths.folder, aside)
  return aside
}

/**
 * Call when nothing runs in the folder any more. `rm` descends by descriptor: any depth works and no link is followed.
 */
export async function removeTree(folder: string): Promise<void> {
  try {
    await run('rm', ['-rf', '--', folder])
  } catch {
    // An agent may have made folders unreadable for its own user.
    await run('chmod', ['-R', 'u+rwX', '--', folder]).catch(() => {})
    await run('rm', ['-rf', '--', folder])
  }
}

/** Removes what an interrupted removal or creation left. */
export async function removeLeftovers(root: string): Promise<void> {
  const names = await readdir(root).catch(() => [])
  for (const name of names) {
    const path = join(root, name)
    const isAbandoned = name.startsWith('.making-') && (await ageOf(path)) > ABANDONED_AFTER_MS
    if (isAbandoned || name.startsWith('.removing-')) await removeTree(path)
  }
}

/** Creating a folder takes milliseconds. */
const ABANDONED_AFTER_MS = 3_600_000

const ageOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  )
