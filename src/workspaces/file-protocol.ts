import type {
  EditedFile,
  FileAnswer,
  FileEdit,
  FileSearchQuery,
  FileSearchResult,
  ReadFile,
  WrittenFile,
} from '../ports/workspace-files.ts'

/** What the server asks of a workspace's files. With a key, a write or an edit happens once however often it is asked. */
export type FileRequest =
  | { type: 'read'; path: string; from?: number; count?: number }
  | { type: 'write'; path: string; text: string; key?: string }
  | { type: 'edit'; path: string; edit: FileEdit; key?: string }
  | { type: 'search'; question: FileSearchQuery }

export type FileReply =
  | FileAnswer<ReadFile>
  | FileAnswer<WrittenFile>
  | FileAnswer<EditedFile>
  | FileAnswer<FileSearchResult>
