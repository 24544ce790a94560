/**
 * Files of a workspace. Every operation runs inside the workspace's sandbox: the server opens no path that an agent
 * chose. Paths are relative to the workspace folder, or absolute within it.
 */
export type WorkspaceFiles = {
  /** Reads lines from number `from` (the first is 1). */
  read(path: string, lines?: { from?: number; count?: number }): Promise<FileAnswer<ReadFile>>
  /** Atomic; creates missing folders. Requests with the same key are the same write. */
  write(path: string, text: string, key?: string): Promise<FileAnswer<WrittenFile>>
  /** Atomic. Requests with the same key are the same edit. */
  edit(path: string, edit: FileEdit, key?: string): Promise<FileAnswer<EditedFile>>
  /** Like `write`, for bytes. */
  save(path: string, bytes: Uint8Array, key?: string): Promise<FileAnswer<WrittenFile>>
  /** All bytes of a file, up to `most`. */
  load(path: string, most: number): Promise<FileAnswer<WholeFile>>
  /** What a folder has, up to a bound. */
  list(path: string): Promise<FileAnswer<ListedFolder>>
  search(query: FileSearchQuery): Promise<FileAnswer<FileSearchResult>>
}

/** Expected faults are values; messages are worded for the model. */
export type FileAnswer<T> = ({ type: 'done' } & T) | { type: 'fault'; fault: FileFault; message: string }

export type FileFault =
  | 'outside'
  | 'bad-path'
  | 'missing'
  | 'not-a-file'
  | 'binary'
  | 'too-large'
  | 'not-found-in-file'
  | 'ambiguous'
  | 'bad-patch'
  | 'bad-pattern'
  | 'refused'

export type ReadFile = {
  /** Lines without line endings, joined by line feeds; an overlong line is cut and marked. */
  text: string
  from: number
  lines: number
  totalLines: number
  bytes: number
  lineEnding: LineEnding
  /** False if the last line of the file has no line ending. */
  isTerminated: boolean
}
export type WholeFile<Content = Uint8Array> = { content: Content }
export type WrittenFile = { bytes: number; isNew: boolean }
export type EditedFile = {
  bytes: number
  /** Number of changes: occurrences, or hunks of a patch. */
  replacements: number
  /** Number of the first changed line, counted from 1. */
  line: number
}

/** `isCut`: the folder has more entries than are listed. */
export type ListedFolder = { path: string; entries: FolderEntry[]; isCut: boolean }
export type FolderEntry = {
  name: string
  kind: 'file' | 'folder' | 'link' | 'other'
  bytes: number
  /** Milliseconds since 1970, as the file system of the workspace has it; an agent can set it. */
  changedAt: number
}

export type LineEnding = 'lf' | 'crlf' | 'mixed'

/** An exact replacement, or a unified diff of this file. */
export type FileEdit =
  | { type: 'replace'; find: string; replace: string; all: boolean }
  | { type: 'patch'; patch: string }

export type FileSearchQuery = {
  /** A regular expression, or plain text if `isText`. Matched line by line. */
  pattern: string
  isText?: boolean
  /** A folder or a file; by default the whole workspace. */
  path?: string
  /** Pattern as in .gitignore, relative to `path`; a leading `!` excludes. */
  glob?: string
  ignoreCase?: boolean
  limit?: number
}

export type FileSearchResult = {
  /** Ordered by path, then line; of a long line, the part around the match. */
  matches: { path: string; line: number; text: string }[]
  isCut: boolean
  /** The limit that cut the result. */
  cutBy?: 'matches' | 'time'
}
