import type { BlockId, PassageId } from './id.ts'

/**
 * What a tool wants changed in our own database. It rides in the event that ends the call and is written in its
 * transaction, so the change and the result the model reads are one: both happened or neither.
 */
export type ToolWrite =
  /** Only if the block is still of the version the tool read. */
  | { type: 'replace-block'; blockId: BlockId; value: string; version: number }
  | { type: 'insert-passage'; passageId: PassageId; text: string; tags: string[] }

/** What the model is told when somebody else changed what its tool had read. */
export const STALE_WRITE_OUTPUT =
  'Nothing was changed: somebody else edited this memory at the same time. Look at what it says now, then decide again.'
