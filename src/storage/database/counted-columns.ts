/**
 * What counts as stored by an organization. A migration made triggers of it: another column needs another migration.
 * Each of these tables has its `organization_id`.
 */
export const COUNTED_COLUMNS = {
  messages: ['body'],
  passages: ['content'],
  blocks: ['value'],
  block_versions: ['value'],
  agents: ['system', 'settings'],
  tools: ['body'],
} as const

export type CountedTable = keyof typeof COUNTED_COLUMNS

/** The bytes of a row, without reading long values. */
export const bytesOfRow = (table: CountedTable, row: string): string =>
  COUNTED_COLUMNS[table].map((column) => `coalesce(octet_length(${row}.${column}), 0)`).join(' + ')
