import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errorText } from '../core/error-text.ts'
import { Problem } from '../core/problem.ts'

/**
 * Writes objects as JSON lines to a file that only its owner can read. It appears when it is complete. Returns how many
 * objects of each kind it has.
 */
export async function writeLines(
  path: string,
  objects: AsyncIterable<{ kind: string }>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  async function* lines() {
    for await (const object of objects) {
      if (!FRAME.has(object.kind)) counts[object.kind] = (counts[object.kind] ?? 0) + 1
      yield `${JSON.stringify(object)}\n`
    }
  }
  const unfinished = `${path}.unfinished-${process.pid}`
  try {
    await pipeline(
      Readable.from(lines(), { highWaterMark: 256 }),
      createWriteStream(unfinished, { mode: 0o600, flags: 'wx', flush: true }),
    )
    await rename(unfinished, path)
    return counts
  } catch (fault) {
    await rm(unfinished, { force: true })
    if ((fault as NodeJS.ErrnoException).syscall === undefined) throw fault
    throw new Problem('invalid-argument', `${path} cannot be written: ${errorText(fault)}`)
  }
}

/** Lines that describe the file itself. */
const FRAME: ReadonlySet<string> = new Set(['export', 'end'])
