import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConversationId } from '../core/id.ts'
import { type ProcessWatches, type WatchedProcess, WorkspaceError } from '../ports/workspaces.ts'

type ProcessWatchesDeps = {
  /** Where a workspace is, as the server sees it. */
  folderOf(conversationId: ConversationId): string
  list(): Promise<ConversationId[]>
  now(): number
}

/** How long what is remembered counts: another process may have written into the same folder. */
const REMEMBERED_MS = 30_000
const NAME = /^[\w-]{1,64}$/

/** One empty file for each, in `awaited/` of its workspace, which the sandbox does not see and which goes with it. */
export function newProcessWatches({ folderOf, list, now }: ProcessWatchesDeps): ProcessWatches {
  const remembered = new Map<string, WatchedProcess>()
  let lookedAt = Number.NEGATIVE_INFINITY
  let changes = 0

  const keyOf = ({ conversationId, processId }: WatchedProcess) => `${conversationId}/${processId}`
  const fileOf = ({ conversationId, processId }: WatchedProcess) => {
    if (!NAME.test(processId)) throw new WorkspaceError('unknown-process', `There is no process ${processId}.`)
    return join(folderOf(conversationId), 'awaited', processId)
  }

  async function look(): Promise<void> {
    lookedAt = now()
    const before = changes
    const found: WatchedProcess[] = []
    for (const conversationId of await list())
      for (const processId of await namesIn(join(folderOf(conversationId), 'awaited')))
        if (NAME.test(processId)) found.push({ conversationId, processId })
    // What was noted or told meanwhile may or may not be among them: they are looked at again.
    if (changes !== before) {
      lookedAt = Number.NEGATIVE_INFINITY
      return
    }
    remembered.clear()
    for (const one of found) remembered.set(keyOf(one), one)
  }

  return {
    async add(awaited) {
      const file = await open(fileOf(awaited), 'a', 0o600).catch((fault: NodeJS.ErrnoException) => {
        if (fault.code !== 'ENOENT') throw fault
        throw new WorkspaceError('gone', `The workspace of ${awaited.conversationId} was removed.`)
      })
      try {
        await file.sync()
      } finally {
        await file.close()
      }
      changes += 1
      remembered.set(keyOf(awaited), awaited)
    },
    async list() {
      if (now() - lookedAt > REMEMBERED_MS) await look()
      return [...remembered.values()]
    },
    async remove(awaited) {
      await rm(fileOf(awaited), { force: true })
      changes += 1
      remembered.delete(keyOf(awaited))
    },
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
