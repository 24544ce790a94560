import type { AgentId, BlockId, OrganizationId, RunId } from './id.ts'
import type { JsonObject } from './json.ts'
import type { Principal } from './people.ts'

/** A piece of memory in an agent's prompt; several agents may share one. */
export type Block = {
  id: BlockId
  organizationId: OrganizationId
  label: string
  value: string
  /** Characters the value may have. */
  limit: number
  description?: string
  readOnly: boolean
  tags: string[]
  metadata: JsonObject
  hidden?: boolean
  templateName?: string
  isTemplate: boolean
  /** The agent it was made with: it is deleted with that agent, unless another one has it. */
  madeFor?: AgentId
  /** Grows by one with each change of the value; edits state the version they read (optimistic locking). */
  version: number
  /** Who wrote the value, and when; absent: before this was recorded, or by an import. */
  author?: BlockAuthor
  writtenAt?: number
  createdAt: number
  updatedAt: number
}

/** Who wrote the value of a block: a person or an application with a key, or an agent in one of its runs. */
export type BlockAuthor = { type: 'caller'; by: Principal } | { type: 'agent'; agentId: AgentId; runId: RunId }

/** A value that a block has or had. The database keeps replaced ones: see `storage/migrations/017-block-versions.ts`. */
export type BlockVersion = { version: number; characters: number; writtenAt: number; author?: BlockAuthor }

/** A block of the conversation replaces the shared block with the same label. */
export const withConversationBlocks = (shared: readonly Block[], own: readonly Block[]): Block[] => [
  ...shared.map((block) => own.find(({ label }) => label === block.label) ?? block),
  ...own.filter(({ label }) => !shared.some((block) => block.label === label)),
]

/** The default of the official server. */
export const DEFAULT_BLOCK_LIMIT = 100_000

export type BlockEdit = { type: 'edited'; value: string } | { type: 'refused'; reason: string }

/** PostgreSQL does not store NUL in text. */
export const cleanText = (text: string): string => text.replaceAll('\0', '')

export const limitFault = (value: string, limit: number): string | undefined =>
  value.length > limit ? `Exceeds ${limit} character limit (requested ${value.length})` : undefined

/** Inserts after this line; 0 is the beginning, -1 the end. */
export function insertText(block: Block, text: string, line: number): BlockEdit {
  const lines = block.value === '' ? [] : block.value.split('\n')
  if (!Number.isInteger(line) || line < -1 || line > lines.length)
    return refusedEdit(`insert_line must be between 0 and ${lines.length}, or -1 for the end; ${line} is not.`)
  const numbered = numberedLines(text)
  if (numbered) return refusedEdit(numbered)
  const at = line === -1 ? lines.length : line
  return checkedEdit(block, [...lines.slice(0, at), ...text.split('\n'), ...lines.slice(at)].join('\n'))
}

export function replaceText(block: Block, before: string, after: string): BlockEdit {
  if (before === '') return refusedEdit('old_string must not be empty.')
  const numbered = numberedLines(before) ?? numberedLines(after)
  if (numbered) return refusedEdit(numbered)
  const count = block.value.split(before).length - 1
  if (count === 0)
    return refusedEdit(`old_string was not found in ${block.label}. It must match exactly, spaces included.`)
  if (count > 1)
    return refusedEdit(`old_string occurs ${count} times in ${block.label}. Make it longer, so that it is unique.`)
  return checkedEdit(block, block.value.split(before).join(after))
}

export const rewriteText = (block: Block, value: string): BlockEdit => checkedEdit(block, value)

function checkedEdit(block: Block, text: string): BlockEdit {
  if (block.readOnly) return refusedEdit(`The block ${block.label} is read-only and cannot be edited.`)
  const value = cleanText(text)
  const fault = limitFault(value, block.limit)
  return fault ? refusedEdit(`The block ${block.label} was not edited: ${fault}.`) : { type: 'edited', value }
}

/** Some models copy the line numbers they are shown. */
function numberedLines(text: string): string | undefined {
  return /^[ \t]*\d+→ /m.test(text)
    ? 'Do not write the line numbers you are shown; they are not part of the text.'
    : undefined
}

const refusedEdit = (reason: string): BlockEdit => ({ type: 'refused', reason })
