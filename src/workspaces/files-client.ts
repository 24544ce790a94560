import { defined } from '../core/defined.ts'
import type {
  EditedFile,
  FileAnswer,
  FileSearchResult,
  ReadFile,
  WorkspaceFiles,
  WrittenFile,
} from '../ports/workspace-files.ts'
import { WorkspaceError } from '../ports/workspaces.ts'
import type { FileReply, FileRequest } from './file-protocol.ts'

/**
 * The files of a workspace as the server sees them. Who answers lives in the sandbox, beside whatever an agent runs there:
 * an answer is believed in its content, never in its shape.
 */
export function newFilesClient(ask: (request: FileRequest) => Promise<FileReply>): WorkspaceFiles {
  const asked = async <T>(request: FileRequest, fields: Fields<T>): Promise<FileAnswer<T>> =>
    checked(await ask(request), fields)
  return {
    read: (path, { from, count } = {}) => asked({ type: 'read', path, ...defined({ from, count }) }, READ),
    write: (path, text, key) => asked({ type: 'write', path, text, ...keyed(key) }, WRITTEN),
    edit: (path, edit, key) => asked({ type: 'edit', path, edit, ...keyed(key) }, EDITED),
    search: async (question) => {
      const answer = await asked({ type: 'search', question }, FOUND)
      return answer.type === 'fault' || answer.matches.every((match) => fits(match, MATCH)) ? answer : nonsense()
    },
  }
}

const keyed = (key: string | undefined) => (key === undefined ? {} : { key })

type Check = (value: unknown) => boolean
type Fields<T> = { [Name in keyof Required<T>]: Check }

const isText: Check = (value) => typeof value === 'string'
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
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
const EDITED: Fields<EditedFile> = { bytes: isCount, replacements: isCount, line: isCount }
const FOUND: Fields<FileSearchResult> = {
  matches: Array.isArray,
  isCut: isFlag,
  cutBy: isOneOf('matches', 'time', undefined),
}
const MATCH: Fields<FileSearchResult['matches'][number]> = { path: isText, line: isCount, text: isText }

function checked<T>(reply: unknown, fields: Fields<T>): FileAnswer<T> {
  if (fits(reply, { type: isOneOf('fault'), fault: isText, message: isText })) return reply as FileAnswer<T>
  return fits(reply, { type: isOneOf('done'), ...fields }) ? (reply as FileAnswer<T>) : nonsense()
}

function fits(value: unknown, fields: Record<string, Check>): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(fields).every(([name, isRight]) => isRight((value as Record<string, unknown>)[name]))
}

function nonsense(): never {
  throw new WorkspaceError('unavailable', 'The workspace gave an answer that makes no sense. Try again.')
}
