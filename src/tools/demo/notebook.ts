import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { AgentId } from '../../core/id.ts'
import { newKeyedMutex } from '../../core/mutex.ts'
import { replaceFile } from '../../disk/atomic-write.ts'
import { readIfPresent } from '../../disk/read-if-present.ts'
import type { Tool } from '../../ports/tool.ts'
import type { BuiltinToolDeps } from '../builtin/builtin-tool-deps.ts'
import { defineTool, success } from '../define-tool.ts'
import { safeFileName, shortDigest } from '../safe-file-name.ts'

/**
 * An agent's notes in `<home>/notes/<agentId>.md`: readable Markdown, with the idempotency keys of all writes as
 * comments.
 */
export function notebook({ home }: Pick<BuiltinToolDeps, 'home'>): Tool[] {
  const mutex = newKeyedMutex()
  const fileOf = (agentId: AgentId) => join(home, 'notes', `${safeFileName(agentId)}.md`)

  /** Changes the notes unless the file has the key of this call already. */
  const changeOnce = (agentId: AgentId, idempotencyKey: string, change: (text: string) => string) =>
    mutex(agentId, async () => {
      const file = fileOf(agentId)
      const attempt = shortDigest(idempotencyKey)
      const text = (await readIfPresent(file)) ?? ''
      if (text.split('\n').includes(markerOf(attempt))) return
      await replaceFile(file, `${change(text)}${markerOf(attempt)}\n`, attempt)
    })

  return [
    defineTool<{ text: string }>({
      name: 'write_note',
      description: 'Writes something down in your notebook, which stays when the conversation ends.',
      inputSchema: {
        type: 'object',
        properties: { text: { type: 'string', minLength: 1, maxLength: 4_000 } },
        required: ['text'],
        additionalProperties: false,
      },
      effects: 'idempotent',
      run: async ({ text }, { agentId, idempotencyKey }) => {
        await changeOnce(agentId, idempotencyKey, (notes) => notes + asNote(text))
        return success(`Noted: ${text}`)
      },
    }),
    defineTool({
      name: 'read_notes',
      description: 'Reads everything in your notebook.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      effects: 'none',
      parallel: true,
      run: async (_, { agentId }) => {
        const notes = withoutMarkers((await readIfPresent(fileOf(agentId))) ?? '')
        return success(notes === '' ? 'The notebook is empty.' : notes)
      },
    }),
    defineTool({
      name: 'erase_notes',
      description: 'Erases everything in your notebook, for good. A person has to agree first.',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      effects: 'idempotent',
      needsApproval: true,
      run: async (_, { agentId, idempotencyKey }) => {
        // The keys stay: a write that is retried after the erasure must not happen again.
        await changeOnce(agentId, idempotencyKey, onlyMarkers)
        await mutex(agentId, () => removeLeftovers(fileOf(agentId)))
        return success('The notebook is empty now.')
      },
    }),
  ]
}

const MARKER_LINE = /^<!-- key [0-9a-f]{32} -->\n?/gm
const markerOf = (attempt: string): string => `<!-- key ${attempt} -->`

const withoutMarkers = (text: string): string => text.replaceAll(MARKER_LINE, '').trimEnd()
const onlyMarkers = (text: string): string => (text.match(MARKER_LINE) ?? []).join('')

/** Later lines are indented, so that no line of a note can look like a marker. */
const asNote = (text: string): string =>
  `- ${text
    .trim()
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .join('\n  ')}\n`

/** Temporary files of interrupted writes still hold the text of notes. */
async function removeLeftovers(file: string): Promise<void> {
  const folder = join(file, '..')
  const names = await readdir(folder)
  const leftovers = names.filter((name) => name.startsWith(`.${basename(file)}.`))
  await Promise.all(leftovers.map((name) => rm(join(folder, name), { force: true })))
}
