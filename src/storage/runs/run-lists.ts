import { type SqlBool, sql } from 'kysely'
import type { AgentId, ConversationId, OrganizationId, RunId, StepId } from '../../core/id.ts'
import type { Run, RunStatus, StopReason } from '../../core/run.ts'
import type { RunFilter, RunPage, StepFilter, StoredStep } from '../../ports/store.ts'
import {
  type Executor,
  listParameters,
  listValues,
  type Slots,
  type Statement,
  statement,
} from '../database/statement.ts'
import { numberOfRun, RUN_COLUMNS, runOf } from '../rows/run-row.ts'
import { STEP_COLUMNS, stepOf } from '../rows/step-row.ts'

const STATUSES = 5

type RunValues = Slots<'status', RunStatus> & {
  organization: OrganizationId
  agent: AgentId
  conversation: ConversationId
  waiting: number
  background: number
  stopReason: StopReason
  before: RunId
  after: RunId
  limit: number
}

/** For parameters that the statement does not use. */
const UNUSED = '' as never

export async function listRuns(
  db: Executor,
  { organizationId, filter }: { organizationId: OrganizationId; filter: RunFilter },
  page: RunPage,
): Promise<Run[]> {
  const { agentId, conversationId, statuses, waiting, background, stopReason } = filter
  const smallIndex = smallIndexFor(filter)
  const rows = await db.page(
    cachedStatement(runLists, { ...filter, [`few ${smallIndex}`]: true }, page, () =>
      runStatement(filter, smallIndex, page),
    ),
    {
      organization: organizationId,
      agent: agentId ?? UNUSED,
      conversation: conversationId ?? UNUSED,
      waiting: waiting ? 1 : 0,
      background: background ? 1 : 0,
      stopReason: stopReason ?? UNUSED,
      ...cursorsOf<RunId>(page),
      ...listValues('status', statuses ?? [], STATUSES),
    },
  )
  return rows.map(runOf)
}

type StepValues = {
  organization: OrganizationId
  agent: AgentId
  run: RunId
  before: StepId
  after: StepId
  limit: number
}

export async function listSteps(
  db: Executor,
  { organizationId, filter }: { organizationId: OrganizationId; filter: StepFilter },
  page: RunPage,
): Promise<StoredStep[]> {
  const rows = await db.page(
    cachedStatement(stepLists, filter, page, () => stepStatement(filter, page)),
    {
      organization: organizationId,
      agent: filter.agentId ?? UNUSED,
      run: filter.runId ?? UNUSED,
      ...cursorsOf<StepId>(page),
    },
  )
  return rows.map(stepOf)
}

/** Cursors come from the caller: an unknown id gives an empty page. */
const cursorsOf = <Id extends string>({ before, after, limit }: RunPage) => ({
  before: (before ?? UNUSED) as Id,
  after: (after ?? UNUSED) as Id,
  limit,
})

/** One statement for each combination of filters and cursors, so that each uses a fitting index. */
const runLists = new Map<string, Statement<RunValues, Parameters<typeof runOf>[0]>>()
const stepLists = new Map<string, Statement<StepValues, Parameters<typeof stepOf>[0]>>()

function cachedStatement<S>(known: Map<string, S>, filter: object, page: RunPage, make: () => S): S {
  const named = (fields: object) => Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : name))
  const { limit: _, order, ...cursors } = page
  const shape = [...named(filter), '/', ...named(cursors), order ?? ''].sort().join()
  const found = known.get(shape)
  if (found) return found
  const fresh = make()
  known.set(shape, fresh)
  return fresh
}

const direction = ({ order }: RunPage) => (order === 'oldest-first' ? ('asc' as const) : ('desc' as const))

function runStatement(filter: RunFilter, smallIndex: keyof typeof SMALL_INDEXES | undefined, page: RunPage) {
  const { agentId, conversationId, statuses, waiting, background, stopReason } = filter
  return statement<RunValues>()((db, p) => {
    let query = db.selectFrom('runs').select(RUN_COLUMNS).where('organization_id', '=', p('organization'))
    const numberOf = (id: RunId) =>
      sql`(select seen.number from runs as seen where seen.id = ${id} and seen.organization_id = ${p('organization')})`
    if (page.before !== undefined) query = query.where(sql<SqlBool>`number < ${numberOf(p('before'))}`)
    if (page.after !== undefined) query = query.where(sql<SqlBool>`number > ${numberOf(p('after'))}`)
    if (agentId !== undefined) query = query.where('agent_id', '=', p('agent'))
    if (conversationId !== undefined) query = query.where('conversation_id', '=', p('conversation'))
    if (statuses !== undefined) query = query.where('status', 'in', listParameters(p, 'status', STATUSES))
    if (waiting !== undefined) query = query.where('waiting', '=', p('waiting'))
    if (smallIndex) query = query.where('number', 'in', SMALL_INDEXES[smallIndex])
    if (background !== undefined) query = query.where('background', '=', p('background'))
    if (stopReason !== undefined) query = query.where('stop_reason', '=', p('stopReason'))
    return query.orderBy('number', direction(page)).limit(p('limit'))
  })
}

/** Runs that have not ended are few and have their own small indexes, so a list of them must not scan all runs. */
function smallIndexFor({ statuses, waiting }: RunFilter): keyof typeof SMALL_INDEXES | undefined {
  if (waiting) return 'waiting'
  return statuses?.every((status) => status === 'created' || status === 'running') ? 'live' : undefined
}

const SMALL_INDEXES = {
  waiting: sql<number>`(select number from runs where waiting = 1)`,
  live: sql<number>`(select number from runs where status = 'created'
    union all select number from runs where status = 'running')`,
}

function stepStatement({ agentId, runId }: StepFilter, page: RunPage) {
  return statement<StepValues>()((db, p) => {
    let query = db.selectFrom('steps').select(STEP_COLUMNS).where('organization_id', '=', p('organization'))
    const numberOf = (id: StepId) =>
      sql`(select seen.number from steps as seen where seen.id = ${id} and seen.organization_id = ${p('organization')})`
    if (page.before !== undefined) query = query.where(sql<SqlBool>`number < ${numberOf(p('before'))}`)
    if (page.after !== undefined) query = query.where(sql<SqlBool>`number > ${numberOf(p('after'))}`)
    if (agentId !== undefined) query = query.where('agent_id', '=', p('agent'))
    if (runId !== undefined) query = query.where('run_number', '=', numberOfRun(p('run')))
    return query.orderBy('number', direction(page)).limit(p('limit'))
  })
}
