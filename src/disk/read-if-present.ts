import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'

/** The text of a file, or undefined if the file does not exist. */
export async function readIfPresent(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(undefinedIfMissing)
}

export function readIfPresentSync(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return undefinedIfMissing(error)
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
