/**
 * Files of a workspace. Whatever is asked for happens inside the workspace's own walls: the server opens no path that an
 * agent chose. Paths are relative to the workspace's folder or absolute within it.
 */
export type WorkspaceFiles = {
  /** Lines from `from` (the first is 1). */
  read(path: string, lines?: { from?: number; count?: number }): Promise<FileAnswer<ReadFile>>
  /** Whole or not at all; folders on the way are made. The same key is the same write, however often it is asked for. */
  write(path: string, text: string, key?: string): Promise<FileAnswer<WrittenFile>>
  /** All of it or nothing. The same key is the same edit, however often it is asked for. */
  edit(path: string, edit: FileEdit, key?: string): Promise<FileAnswer<EditedFile>>
  search(question: FileSearchQuery): Promise<FileAnswer<FileSearchResult>>
}

/** Expected faults are values, in words for the model. */
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
  /** Lines without their endings, joined by line feeds; one that is too long is cut and says so. */
  text: string
  from: number
  lines: number
  totalLines: number
  bytes: number
  lineEnding: LineEnding
  /** False where the last line of the file has no line ending. */
  isTerminated: boolean
}
export type WrittenFile = { bytes: number; isNew: boolean }
export type EditedFile = {
  bytes: number
  /** Places that changed: occurrences, or hunks of a patch. */
  replacements: number
  /** The first line that changed; the first is 1. */
  line: number
}

export type LineEnding = 'lf' | 'crlf' | 'mixed'

/** By exact replacement, or by a unified diff of this file. */
export type FileEdit =
  | { type: 'replace'; find: string; replace: string; all: boolean }
  | { type: 'patch'; patch: string }

export type FileSearchQuery = {
  /** A regular expression, or the very text. It is looked for line by line. */
  pattern: string
  isText?: boolean
  /** A folder or a file; the whole workspace where it is left out. */
  path?: string
  /** As in a .gitignore file, from `path` on; with `!` in front, what to leave out. */
  glob?: string
  ignoreCase?: boolean
  limit?: number
}

export type FileSearchResult = {
  /** By path, then by line; of a long line the part around what was found. */
  matches: { path: string; line: number; text: string }[]
  isCut: boolean
  /** What it was cut by. */
  cutBy?: 'matches' | 'time'
}
