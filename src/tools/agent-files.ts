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
    async shared() {
      const top = (await entriesOf(home)).flatMap((file) => {
        const found = SHARED.find(({ pattern }) => pattern.test(file))
        return found ? [{ file, why: found.why }] : []
      })
      const outputs = await readdir(spill, { withFileTypes: true }).catch(noneIfAbsent)
      const flat = outputs.filter((entry) => entry.isFile()).map(({ name }) => ({ file: `spill/${name}`, why: FLAT }))
      return [...top, ...flat]
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

const SHARED = [
  { pattern: /^outbox\.jsonl$/, why: 'postcards that agents of all organizations sent, without their names' },
  {
    pattern: /^holdfast\.db\.before-/,
    why: 'the database as it was before an upgrade; delete it once you will not go back to that version',
  },
]
const FLAT = 'a long output from a version that did not note the agent; delete it once no conversation points at it'

const entriesOf = (folder: string): Promise<string[]> => readdir(folder).catch(noneIfAbsent)

function noneIfAbsent(fault: NodeJS.ErrnoException): never[] {
  if (fault.code === 'ENOENT') return []
  throw fault
}
