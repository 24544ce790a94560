import { defined } from '../core/defined.ts'
import type {
  EditedFile,
  FileAnswer,
  FileSearchResult,
  FolderEntry,
  ListedFolder,
  ReadFile,
  WholeFile,
  WorkspaceFiles,
  WrittenFile,
} from '../ports/workspace-files.ts'
import { WorkspaceError } from '../ports/workspaces.ts'
import { type FileReply, type FileRequest, LAST_INSTANT } from './file-protocol.ts'

/**
 * Client of the supervisor's file operations. The supervisor runs in the sandbox beside an agent's commands, so the
 * shape of every answer is validated.
 */
export function newFilesClient(ask: (request: FileRequest) => Promise<FileReply>): WorkspaceFiles {
  const send = async <T>(request: FileRequest, fields: Fields<T>): Promise<FileAnswer<T>> =>
    requireAnswer(await ask(request), fields)
  return {
    read: (path, { from, count } = {}) => send({ type: 'read', path, ...defined({ from, count }) }, READ),
    write: (path, text, key) => send({ type: 'write', path, text, ...keyed(key) }, WRITTEN),
    edit: (path, edit, key) => send({ type: 'edit', path, edit, ...keyed(key) }, EDITED),
    save: (path, bytes, key) =>
      send({ type: 'save', path, content: Buffer.from(bytes).toString('base64'), ...keyed(key) }, WRITTEN),
    load: async (path, most) => {
      const answer = await send({ type: 'load', path, most }, WHOLE)
      if (answer.type === 'fault') return answer
      const content = Buffer.from(answer.content, 'base64')
      return content.length <= most ? { type: 'done', content } : throwInvalidAnswer()
    },
    list: async (path) => {
      const answer = await send({ type: 'list', path }, LISTED)
      return answer.type === 'fault' || answer.entries.every((entry) => hasFields(entry, ENTRY))
        ? answer
        : throwInvalidAnswer()
    },
    search: async (question) => {
      const answer = await send({ type: 'search', question }, FOUND)
      return answer.type === 'fault' || answer.matches.every((match) => hasFields(match, MATCH))
        ? answer
        : throwInvalidAnswer()
    },
  }
}

const keyed = (key: string | undefined) => (key === undefined ? {} : { key })

type Check = (value: unknown) => boolean
type Fields<T> = { [Name in keyof Required<T>]: Check }

const isText: Check = (value) => typeof value === 'string'
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isInstant: Check = (value) => isCount(value) && (value as number) <= LAST_INSTANT
const isFlag: Check = (value) => typeof value === 'boolean'
const isOneOf =
  (...choices: unknown[]): Check =>
  (value) =>
    choices.includes(value)

const READ: Fields<ReadFile> = {
  text: isText,
  from: isCount,
  lines: isCount,
  totalLines: isCount,
  bytes: isCount,
  isTerminated: isFlag,
  lineEnding: isOneOf('lf', 'crlf', 'mixed'),
}
const WRITTEN: Fields<WrittenFile> = { bytes: isCount, isNew: isFlag }
const WHOLE: Fields<WholeFile<string>> = { content: isText }
const EDITED: Fields<EditedFile> = { bytes: isCount, replacements: isCount, line: isCount }
const LISTED: Fields<ListedFolder> = { path: isText, entries: Array.isArray, isCut: isFlag }
const ENTRY: Fields<FolderEntry> = {
  name: isText,
  kind: isOneOf('file', 'folder', 'link', 'other'),
  bytes: isCount,
  changedAt: isInstant,
}
const FOUND: Fields<FileSearchResult> = {
  matches: Array.isArray,
  isCut: isFlag,
  cutBy: isOneOf('matches', 'time', undefined),
}
const MATCH: Fields<FileSearchResult['matches'][number]> = { path: isText, line: isCount, text: isText }

function requireAnswer<T>(reply: unknown, fields: Fields<T>): FileAnswer<T> {
  if (hasFields(reply, { type: isOneOf('fault'), fault: isText, message: isText })) return reply as FileAnswer<T>
  return hasFields(reply, { type: isOneOf('done'), ...fields }) ? (reply as FileAnswer<T>) : throwInvalidAnswer()
}

function hasFields(value: unknown, fields: Record<string, Check>): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(fields).every(([name, isRight]) => isRight((value as Record<string, unknown>)[name]))
}

function throwInvalidAnswer(): never {
  throw new WorkspaceError('unavailable', 'Invalid response from the workspace supervisor. Try again.')
}
