import { defined } from '../../../core/defined.ts'
import { newKeyedMutex } from '../../../core/mutex.ts'
import type { FileReply, FileRequest } from '../../file-protocol.ts'
import { newAppliedKeys } from './applied-keys.ts'
import { editFile, type FileChangeDeps, writeFile } from './change-file.ts'
import { toFileRefusal } from './file-refusal.ts'
import { listFolder } from './list-folder.ts'
import { readFile } from './read-file.ts'
import { removeLeftover } from './replace-file.ts'
import { findRipgrep } from './search-by-ripgrep.ts'
import { searchFiles } from './search-files.ts'
import { loadFile, saveFile } from './whole-file.ts'

/** Performs the file operations of one workspace. Never rejects: an error is a fault in the reply. */
export type FileHandler = { answer(request: FileRequest): Promise<FileReply> }

export type FileHandlerOptions = {
  /** The file with the idempotency keys of changes; without it they are kept in memory only. */
  journal?: string
  /** Bytes the workspace may still grow by; undefined if not measured. */
  spaceLeft?(): number | undefined
  /** The ripgrep binary; `none` for the built-in walker. Default: found on PATH. */
  ripgrep?: string
  /** Timeout of a search. */
  searchMilliseconds?: number
}

/** Each search uses a thread or a process: more at once would only compete for the processor. */
const SEARCHES_AT_ONCE = 2

export function newFileHandler(folder: string, options: FileHandlerOptions = {}): FileHandler {
  const mutex = newKeyedMutex()
  const deps: FileChangeDeps = {
    root: folder,
    mutex,
    keys: newAppliedKeys({
      path: options.journal,
      removeLeftover: (temporary, before) => removeLeftover(folder, temporary, before),
    }),
    spaceLeft: options.spaceLeft ?? (() => undefined),
  }
  const ripgrep = options.ripgrep === 'none' ? undefined : (options.ripgrep ?? findRipgrep(folder))
  const searchDeps = {
    root: folder,
    ripgrep,
    ...defined({ milliseconds: options.searchMilliseconds }),
  }
  let searches = 0

  const handle = async (request: FileRequest): Promise<FileReply> => {
    switch (request.type) {
      case 'read':
        return { type: 'done', ...(await readFile(folder, request)) }
      case 'write':
        return writeFile(deps, request)
      case 'edit':
        return editFile(deps, request)
      case 'save':
        return saveFile(deps, request)
      case 'load':
        return { type: 'done', ...(await loadFile(folder, request)) }
      case 'list':
        return { type: 'done', ...(await listFolder(folder, request.path)) }
      case 'search': {
        const lockKey = `search ${searches++ % SEARCHES_AT_ONCE}`
        return mutex(lockKey, async () => ({ type: 'done', ...(await searchFiles(searchDeps, request.question)) }))
      }
    }
  }

  return {
    async answer(request) {
      try {
        return await handle(request)
      } catch (error) {
        const path = request.type === 'search' ? (request.question.path ?? '.') : request.path
        const { fault, message } = toFileRefusal(error, path)
        return { type: 'fault', fault, message }
      }
    },
  }
}
