import { join } from 'node:path'
import type { AgentId } from '../core/id.ts'
import { replaceFile } from '../disk/atomic-write.ts'
import { readIfPresent } from '../disk/read-if-present.ts'
import type { OutputSpill, OutputSpills } from '../ports/tool.ts'
import { safeFileName, shortDigest } from './safe-file-name.ts'

/**
 * Stores long outputs in `<home>/spill/<agentId>/<callId>.txt`. The answer is the path below the home: models and tenants do not
 * learn where the home is.
 */
export const fileSpill = (home: string): OutputSpills => ({ of: (agentId) => spillOf(agentId, home) })

function spillOf(agentId: AgentId, home: string): OutputSpill {
  const folder = join('spill', safeFileName(agentId))
  return {
    save: async (callId, output) => {
      const name = safeFileName(callId)
      const digest = shortDigest(output)
      const defaultPath = join(folder, `${name}.txt`)
      const kept = await readIfPresent(join(home, defaultPath))
      if (kept === output) return defaultPath
      // Some vendors number their call ids from zero in every answer: do not overwrite the other output.
      const path = kept === undefined ? defaultPath : join(folder, `${name}-${digest}.txt`)
      await replaceFile(join(home, path), output, digest)
      return path
    },
  }
}
