import type { FileHandle } from 'node:fs/promises'
import { openFolder, pathIn } from './open-folder.ts'
import { excerptAround, type FileMatch } from './search-limits.ts'
import { ignoreUnreadable, readText } from './search-text.ts'

/** A match as ripgrep reports it, with the character of its line at which it begins. */
export type ReportedMatch = FileMatch & { at: number }

/**
 * The matches whose line is in a file that is reached without a link. ripgrep looks at a file and then opens it by its
 * name; a link swapped in between leads it out of the workspace.
 */
export async function confirmMatches(folder: FileHandle, reported: readonly ReportedMatch[]): Promise<FileMatch[]> {
  const confirmed: FileMatch[] = []
  for (const [path, matches] of Map.groupBy(reported, (match) => match.path)) {
    const lines = (await readWithoutLinks(folder, path))?.split('\n') ?? []
    for (const { line, text, at } of matches) {
      const present = lines[line - 1]?.replace(/\r$/, '')
      if (present !== undefined && excerptAround(present, at) === text) confirmed.push({ path, line, text })
    }
  }
  return confirmed
}

async function readWithoutLinks(start: FileHandle, path: string): Promise<string | undefined> {
  const names = path.split('/')
  const opened: FileHandle[] = []
  try {
    for (const name of names.slice(0, -1)) {
      const next = await ignoreUnreadable(openFolder(opened.at(-1) ?? start, name))
      if (!next) return undefined
      opened.push(next)
    }
    return await ignoreUnreadable(readText(pathIn(opened.at(-1) ?? start, names.at(-1))))
  } finally {
    await Promise.all(opened.map((handle) => handle.close()))
  }
}
