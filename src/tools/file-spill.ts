import { join } from 'node:path'
import { replaceFile } from '../disk/atomic-write.ts'
import { readIfPresent } from '../disk/read-if-present.ts'
import type { OutputSpill } from '../ports/tool.ts'
import { safeFileName, shortDigest } from './safe-file-name.ts'

/** Keeps long outputs in `<home>/spill/<callId>.txt`. */
export function fileSpill(home: string): OutputSpill {
  return {
    save: async (callId, output) => {
      const name = safeFileName(callId)
      const digest = shortDigest(output)
      const usual = join(home, 'spill', `${name}.txt`)
      const kept = await readIfPresent(usual)
      if (kept === output) return usual
      // Some vendors count their call ids from zero in every answer: the other output stays.
      const path = kept === undefined ? usual : join(home, 'spill', `${name}-${digest}.txt`)
      await replaceFile(path, output, digest)
      return path
    },
  }
}
