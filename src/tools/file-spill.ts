import { join } from 'node:path'
import { replaceFile } from '../disk/atomic-write.ts'
import { readIfPresent } from '../disk/read-if-present.ts'
import type { OutputSpill } from '../ports/tool.ts'
import { safeFileName, shortDigest } from './safe-file-name.ts'

/**
 * Stores long outputs in `<home>/spill/<callId>.txt`. The answer is the path below the home: models and tenants do not
 * learn where the home is.
 */
export function fileSpill(home: string): OutputSpill {
  return {
    save: async (callId, output) => {
      const name = safeFileName(callId)
      const digest = shortDigest(output)
      const defaultPath = join('spill', `${name}.txt`)
      const kept = await readIfPresent(join(home, defaultPath))
      if (kept === output) return defaultPath
      // Some vendors number their call ids from zero in every answer: do not overwrite the other output.
      const path = kept === undefined ? defaultPath : join('spill', `${name}-${digest}.txt`)
      await replaceFile(join(home, path), output, digest)
      return path
    },
  }
}
