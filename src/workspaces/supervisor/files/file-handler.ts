import { defined } from '../../../core/defined.ts'
import { newKeyedMutex } from '../../../core/mutex.ts'
import type { FileReply, FileRequest } from '../../file-protocol.ts'
import { newAppliedKeys } from './applied-keys.ts'
import { editFile, type FileChangeDeps, writeFile } from './change-file.ts'
import { toFileRefusal } from './file-refusal.ts'
import { readFile } from './read-file.ts'
import { removeLeftover } from './replace-file.ts'
import { findRipgrep } from './search-by-ripgrep.ts'
import { searchFiles } from './search-files.ts'

/** Answers whatever is asked about the files of one workspace. Never rejects: what goes wrong is a fault in the reply. */
export type FileHandler = { answer(request: FileRequest): Promise<FileReply> }

export type FileHandlerOptions = {
  /** Where the keys of what was written are remembered; without it only as long as this process lives. */
  journal?: string
  /** Bytes the workspace may still grow by; undefined where nobody counts. */
  spaceLeft?(): number | undefined
  /** The program to search with; `none` for the walker of our own. Found on the search path when not said. */
  ripgrep?: string
  /** How long a search may take. */
  searchMilliseconds?: number
}

/** Each takes a thread or a program: more at once would only wait for each other. */
const SEARCHES_AT_ONCE = 2

export function newFileHandler(folder: string, options: FileHandlerOptions = {}): FileHandler {
  const inTurn = newKeyedMutex()
  const home: FileChangeDeps = {
    root: folder,
    mutex: inTurn,
    keys: newAppliedKeys({
      path: options.journal,
      removeLeftover: (temporary, before) => removeLeftover(folder, temporary, before),
    }),
    spaceLeft: options.spaceLeft ?? (() => undefined),
  }
  const ripgrep = options.ripgrep === 'none' ? undefined : (options.ripgrep ?? findRipgrep(folder))
  const searching = {
    root: folder,
    ripgrep,
    ...defined({ milliseconds: options.searchMilliseconds }),
  }
  let searches = 0

  const done = async (request: FileRequest): Promise<FileReply> => {
    switch (request.type) {
      case 'read':
        return { type: 'done', ...(await readFile(folder, request)) }
      case 'write':
        return writeFile(home, request)
      case 'edit':
        return editFile(home, request)
      case 'search': {
        const lockKey = `search ${searches++ % SEARCHES_AT_ONCE}`
        return inTurn(lockKey, async () => ({ type: 'done', ...(await searchFiles(searching, request.question)) }))
      }
    }
  }

  return {
    async answer(request) {
      try {
        return await done(request)
      } catch (error) {
        const path = request.type === 'search' ? (request.question.path ?? '.') : request.path
        const { fault, message } = toFileRefusal(error, path)
        return { type: 'fault', fault, message }
      }
    },
  }
}
