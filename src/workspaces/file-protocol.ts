import type {
  EditedFile,
  FileAnswer,
  FileEdit,
  FileSearchQuery,
  FileSearchResult,
  ListedFolder,
  ReadFile,
  WholeFile,
  WrittenFile,
} from '../ports/workspace-files.ts'

/** The end of the year 9999: an agent can give its files any date. */
export const LAST_INSTANT = Date.UTC(10_000, 0) - 1

/** File operations of a workspace. With a key, a write or an edit is idempotent. */
export type FileRequest =
  | { type: 'read'; path: string; from?: number; count?: number }
  | { type: 'write'; path: string; text: string; key?: string }
  | { type: 'edit'; path: string; edit: FileEdit; key?: string }
  /** Bytes as base64: the protocol is lines of JSON. */
  | { type: 'save'; path: string; content: string; key?: string }
  | { type: 'load'; path: string; most: number }
  | { type: 'list'; path: string }
  | { type: 'search'; question: FileSearchQuery }

export type FileReply =
  | FileAnswer<ReadFile>
  | FileAnswer<WrittenFile>
  | FileAnswer<EditedFile>
  | FileAnswer<WholeFile<string>>
  | FileAnswer<ListedFolder>
  | FileAnswer<FileSearchResult>
