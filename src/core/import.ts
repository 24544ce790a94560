import type { AgentId, ImportId, OrganizationId } from './id.ts'

/** What an import moves, in the order in which it is read: later kinds refer to earlier ones. */
export const IMPORT_KINDS = [
  'provider',
  'mcp-server',
  'tool',
  'block',
  'agent',
  'conversation',
  'message',
  'passage',
  'run',
  'folder',
  'file',
  'file-passage',
  'archive',
  'identity',
  'group',
] as const

export type ImportKind = (typeof IMPORT_KINDS)[number]

/** Kinds without a home in Holdfast: their JSON stays with the import, for a version that can place them. */
export const KEPT_KINDS: readonly ImportKind[] = ['folder', 'file', 'file-passage', 'archive', 'identity', 'group']

/**
 * `failed` and `stopped` imports go on with the same request. A `done` one brings what is new at the source when it is
 * requested again.
 */
export type ImportState = 'running' | 'done' | 'failed' | 'stopped'

/** Where an import reads from. The key is stored apart, encrypted. */
export type ImportOrigin = { type: 'server'; url: string } | { type: 'file'; path: string }

export type ImportOptions = {
  /** Ids or names; absent: all agents. */
  agents?: string[]
  /** Requests to the source per second; absent: as fast as it answers. */
  rate?: number
  /** Reads and reports, and writes nothing but this record. */
  dryRun?: boolean
}

export type ImportRecord = {
  id: ImportId
  organizationId: OrganizationId
  origin: ImportOrigin
  options: ImportOptions
  state: ImportState
  /** Why it failed, and what to do. */
  failure?: string
  progress: ImportProgress
  /** How often it was started: 1 is the first time. */
  passes: number
  createdAt: number
  startedAt: number
  updatedAt: number
  finishedAt?: number
}

export type ImportProgress = {
  /** What it does now, as a phrase. */
  stage: string
  /** Version of the source, as it says. */
  version?: string
  /** Objects of each kind that the source has, where it says so before they are read. */
  stated: Partial<Record<ImportKind, number>>
  /** Objects that this pass has read. */
  read: Partial<Record<ImportKind, number>>
  /** Objects with a row. */
  settled: Partial<Record<ImportKind, number>>
}

/**
 * What became of an object of the source. `left-out`: it has no place here, or this home has it already. `failed`: it
 * could not be read or stored, and the next pass tries again. `deleted`: it was imported, and deleted here since.
 */
type ImportOutcome = 'imported' | 'kept' | 'left-out' | 'failed' | 'deleted'

/** The row of an object of the source. Every one that is not `imported` has a reason. */
export type ImportObject = {
  kind: ImportKind
  sourceId: string
  /** The conversation of a message, by its id at the source: a fork shares messages with its original. Else empty. */
  parent: string
  outcome: ImportOutcome
  /** Id of the row here. */
  targetId?: string
  /** The agent here that it belongs to. */
  ownerId?: AgentId
  reason?: string
  /** JSON of a kept object. */
  body?: string
  /** Of a conversation: the last message at the source before which everything has a row. */
  cursor?: string
}

export const newProgress = (stage: string): ImportProgress => ({ stage, stated: {}, read: {}, settled: {} })

/** One line of the comparison at the end. */
export type ImportTally = {
  kind: ImportKind
  /** Objects at the source: as it states, or as many as were read. */
  source: number
  imported: number
  /** Imported under another id, because the id was taken or has another form. */
  remapped: number
  kept: number
  leftOut: number
  failed: number
  deleted: number
  /** Objects at the source without a row: nothing says what became of them. */
  missing: number
}

export type OutcomeCount = { kind: ImportKind; outcome: ImportOutcome; remapped: number; count: number }

/** Compares the source with the rows, kind by kind. */
export function tallyImport({ stated, read }: ImportProgress, counts: readonly OutcomeCount[]): ImportTally[] {
  return IMPORT_KINDS.flatMap((kind): ImportTally[] => {
    const own = counts.filter((each) => each.kind === kind)
    const sum = (outcome: ImportOutcome) =>
      own.filter((each) => each.outcome === outcome).reduce((total, { count }) => total + count, 0)
    const rows = own.reduce((total, { count }) => total + count, 0)
    // Pages of these may overlap, so what was read is no count of what there is.
    const isPaged = kind === 'message' || kind === 'passage'
    const source = Math.max(stated[kind] ?? 0, isPaged ? 0 : (read[kind] ?? 0))
    if (rows + source === 0) return []
    return [
      {
        kind,
        // Objects may have been deleted at the source since an earlier pass.
        source: Math.max(source, rows),
        imported: sum('imported'),
        remapped: own.reduce((total, { remapped }) => total + remapped, 0),
        kept: sum('kept'),
        leftOut: sum('left-out'),
        failed: sum('failed'),
        deleted: sum('deleted'),
        missing: Math.max(0, source - rows),
      },
    ]
  })
}

/** Whether everything at the source is here or has a reason that another pass would not change. */
export const isComplete = (tallies: readonly ImportTally[]): boolean =>
  tallies.every(({ failed, missing }) => failed === 0 && missing === 0)
