import { DEFAULT_ORGANIZATION, type ImportId } from '../../core/id.ts'
import {
  type ImportObject,
  type ImportOptions,
  type ImportOrigin,
  type ImportRecord,
  type ImportTally,
  isComplete,
  newProgress,
  tallyImport,
} from '../../core/import.ts'
import { Problem } from '../../core/problem.ts'
import type { KeptPage } from '../../ports/import-store.ts'
import type { ServiceContext } from '../service-context.ts'

type ImportRequest = {
  origin: ImportOrigin
  options: ImportOptions
  /** Password or key of the source. */
  key?: string
}

/** Remarks of a report; the counts cover all of them. */
const MAX_REMARKS = 1_000

/** An import with what became of its objects. */
export type ImportReport = {
  record: ImportRecord
  tallies: ImportTally[]
  /** Whether all of the source is here or has a reason that another pass would not change. */
  complete: boolean
  remarks: ImportObject[]
}

/** Starts an import, or goes on with the one of the same origin. The importer of this process carries it out. */
export async function startImport(request: ImportRequest, context: ServiceContext): Promise<ImportReport> {
  const { store, clock, randomness } = context.deps
  refuseOrigin(request.origin, context)
  const id: ImportId = `import-${randomness.uuid()}`
  const { organizationId } = context
  const now = clock.now()
  const known = (await store.imports.list(organizationId)).find((one) => isSameOrigin(one.origin, request.origin))
  const record: ImportRecord = {
    id: known?.id ?? id,
    organizationId,
    origin: request.origin,
    options: request.options,
    state: 'running',
    progress: newProgress('Waiting for the importer'),
    passes: 1,
    createdAt: now,
    startedAt: now,
    updatedAt: now,
  }
  // A key is bound to its import, and the import of an origin keeps its id.
  const sealed = !request.key ? undefined : context.secretKeys.box.seal(request.key, record.id)
  const opened = await store.imports.open(record, sealed)
  return reportOf(opened, context)
}

const isSameOrigin = (one: ImportOrigin, other: ImportOrigin): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Operators may import from any address, and from files of this machine. */
function refuseOrigin(origin: ImportOrigin, { outbound, organizationId }: ServiceContext): void {
  const isOperator = organizationId === DEFAULT_ORGANIZATION
  if (origin.type === 'file') {
    if (!isOperator) throw new Problem('invalid', 'Only operators can import a file of this machine.')
    return
  }
  const fault = outbound.addressFault(origin.url, isOperator ? 'configured' : 'public')
  if (fault) throw new Problem('invalid', `${origin.url} cannot be the address of a server: ${fault}.`)
}

export async function showImport(id: ImportId, context: ServiceContext): Promise<ImportReport> {
  return reportOf(await requireImport(id, context), context)
}

/** Without remarks, newest first. */
export async function listImports(context: ServiceContext): Promise<ImportReport[]> {
  const records = await context.deps.store.imports.list(context.organizationId)
  return Promise.all(records.map((record) => reportOf(record, context, 0)))
}

/** Ends a running import. The same request goes on with it. */
export async function stopImport(id: ImportId, context: ServiceContext): Promise<ImportReport> {
  const { store, clock } = context.deps
  const stopped = await store.imports.stop(context.organizationId, id, clock.now())
  if (!stopped) throw notFound(id)
  return reportOf(stopped, context)
}

/** Objects that wait for a version with a home for them. */
export async function keptObjects(id: ImportId, page: KeptPage, context: ServiceContext): Promise<ImportObject[]> {
  await requireImport(id, context)
  return context.deps.store.imports.kept(context.organizationId, id, page)
}

async function reportOf(record: ImportRecord, { deps }: ServiceContext, limit = MAX_REMARKS): Promise<ImportReport> {
  const { organizationId, id } = record
  const counts = await deps.store.imports.counts(organizationId, id)
  const tallies = tallyImport(record.progress, counts)
  const remarks = limit === 0 ? [] : await deps.store.imports.remarks(organizationId, id, limit)
  return { record, tallies, complete: record.state === 'done' && isComplete(tallies), remarks }
}

async function requireImport(id: ImportId, { deps, organizationId }: ServiceContext): Promise<ImportRecord> {
  const found = await deps.store.imports.get(organizationId, id)
  if (found) return found
  throw notFound(id)
}

const notFound = (id: ImportId) =>
  new Problem('not-found', `There is no import "${id}". \`holdfast import list\` lists them.`)
