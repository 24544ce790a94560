import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type AgentId, parseId } from '../core/id.ts'
import type { AgentFiles } from '../ports/agent-files.ts'
import { safeFileName } from './safe-file-name.ts'

/** What agents have in the home besides rows: notes, and long outputs of their tools. */
export function agentFiles(home: string): AgentFiles {
  const notes = join(home, 'notes')
  const spill = join(home, 'spill')
  return {
    async erase(agentId) {
      const name = safeFileName(agentId)
      const outputs = await entriesOf(join(spill, name))
      const written = (await entriesOf(notes)).filter((entry) => entry === `${name}.md`)
      await rm(join(notes, `${name}.md`), { force: true })
      await rm(join(spill, name), { recursive: true, force: true })
      return outputs.length + written.length
    },
    async owners() {
      const names = [
        ...(await entriesOf(spill)),
        ...(await entriesOf(notes)).map((entry) => entry.replace(/\.md$/, '')),
      ]
      return [...new Set(names)].flatMap((name): AgentId | [] => parseId('agent', name) ?? [])
    },
  }
}

async function entriesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw fault
  }
}
