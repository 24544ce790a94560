import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConversationId } from '../core/id.ts'
import { type ProcessWatches, type WatchedProcess, WorkspaceError } from '../ports/workspaces.ts'

type ProcessWatchesDeps = {
  /** The folder of a workspace, as the server sees it. */
  folderOf(conversationId: ConversationId): string
  list(): Promise<ConversationId[]>
  now(): number
}

/** How long the cache is valid: another process may have written into the same folder. */
const CACHE_MS = 30_000
const NAME = /^[\w-]{1,64}$/

/**
 * One empty file per watch, in `awaited/` of its workspace: not visible in the sandbox, and removed with the workspace.
 */
export function newProcessWatches({ folderOf, list, now }: ProcessWatchesDeps): ProcessWatches {
  const cache = new Map<string, WatchedProcess>()
  let loadedAt = Number.NEGATIVE_INFINITY
  let changes = 0

  const keyOf = ({ conversationId, processId }: WatchedProcess) => `${conversationId}/${processId}`
  const fileOf = ({ conversationId, processId }: WatchedProcess) => {
    if (!NAME.test(processId)) throw new WorkspaceError('unknown-process', `There is no process "${processId}".`)
    return join(folderOf(conversationId), 'awaited', processId)
  }

  async function reload(): Promise<void> {
    loadedAt = now()
    const before = changes
    const found: WatchedProcess[] = []
    for (const conversationId of await list())
      for (const processId of await listNames(join(folderOf(conversationId), 'awaited')))
        if (NAME.test(processId)) found.push({ conversationId, processId })
    // Watches added or removed during the scan may be missing or stale in it: the next call scans again.
    if (changes !== before) {
      loadedAt = Number.NEGATIVE_INFINITY
      return
    }
    cache.clear()
    for (const one of found) cache.set(keyOf(one), one)
  }

  return {
    async add(watch) {
      const file = await open(fileOf(watch), 'a', 0o600).catch((fault: NodeJS.ErrnoException) => {
        if (fault.code !== 'ENOENT') throw fault
        throw new WorkspaceError('gone', `The workspace of ${watch.conversationId} was removed.`)
      })
      try {
        await file.sync()
      } finally {
        await file.close()
      }
      changes += 1
      cache.set(keyOf(watch), watch)
    },
    async list() {
      if (now() - loadedAt > CACHE_MS) await reload()
      return [...cache.values()]
    },
    async remove(watch) {
      await rm(fileOf(watch), { force: true })
      changes += 1
      cache.delete(keyOf(watch))
    },
  }
}

async function listNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
