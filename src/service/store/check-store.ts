import type { RunId } from '../../core/id.ts'
import {
  checkAcrossRuns,
  checkAuditChain,
  checkBlockHistory,
  checkCallback,
  checkConversation,
  checkDelivery,
  checkHookDelivery,
  checkImportObject,
  checkRun,
  checkSchedule,
  checkStoredBytes,
  summarize,
} from '../../core/invariants/all.ts'
import { newRunLinks } from '../../core/invariants/links.ts'
import type { Invariant, RunSummary, Violation } from '../../core/invariants/record.ts'
import { noZombie } from '../../core/invariants/runs.ts'
import { oneTerminal } from '../../core/invariants/streams.ts'
import { isOver, phaseOf, type Run } from '../../core/run.ts'
import { QUARANTINE_FROM } from '../../engine/dispatcher.ts'
import type { ServiceContext } from '../service-context.ts'
import { listWebhooks } from '../webhooks/webhooks.ts'
import { checkAllGateway } from './check-gateway.ts'

export type StoreReport = {
  runs: number
  conversations: number
  messages: number
  violations: Violation[]
  /** Findings that violate no invariant. */
  notices: StoreNotice[]
}

type StoreNotice = { where: string; detail: string }

/** Time for a running engine to take over a run without a live worker: a heartbeat and some margin. */
const RECOVERY_MS = 5_000
/** Time between the commit that ends a run and the end of its stream. */
const STREAM_END_MS = 250
const UNENDED_PAGE = 1_000

/**
 * Checks every invariant of stored data, on a store that may be in use. It reads pages, each a snapshot; a violation
 * that spans pages is reported only if a second read confirms it. The workers in the rows of a copy do not run.
 */
export async function checkStore(context: ServiceContext, { isCopy = false } = {}): Promise<StoreReport> {
  const report: StoreReport = { runs: 0, conversations: 0, messages: 0, violations: [], notices: [] }
  // Keeps only what other runs may contradict, to bound memory.
  const links = newRunLinks()
  const unheld: Run[] = []
  const workers = isCopy ? new Set<string>() : await context.snapshot.liveWorkers()

  for await (const record of context.snapshot.runs()) {
    report.runs++
    report.violations.push(...checkRun(record))
    const { run } = record
    links.add(summarize(record))
    if (run.status === 'running' && !isHeld(run, workers)) unheld.push(run)
    if (run.waiting && run.expiresAt !== undefined && run.expiresAt < context.deps.clock.now())
      report.notices.push({ where: run.id, detail: 'its approval has expired; a running server cancels it' })
  }
  for await (const record of context.snapshot.conversations()) {
    if (record.isEnd ?? true) report.conversations++
    report.messages += record.messages.length
    report.violations.push(...checkConversation(record))
  }
  for await (const record of context.snapshot.auditChains()) report.violations.push(...checkAuditChain(record))
  for await (const record of context.snapshot.importObjects()) report.violations.push(...checkImportObject(record))
  for await (const record of context.snapshot.blockHistories()) report.violations.push(...checkBlockHistory(record))
  for (const record of await context.snapshot.storedBytes()) report.violations.push(...checkStoredBytes(record))
  for await (const record of context.snapshot.schedules()) report.violations.push(...checkSchedule(record))
  for await (const record of context.snapshot.callbacks()) report.violations.push(...checkCallback(record))
  for await (const record of context.snapshot.webhookDeliveries()) report.violations.push(...checkDelivery(record))
  for await (const record of context.snapshot.hookDeliveries()) report.violations.push(...checkHookDelivery(record))
  report.notices.push(...(await disabledWebhooks(context)))
  report.violations.push(...(await checkLinks(links.unresolved(), context)))
  report.violations.push(...(await checkAllGateway(context, workers)))
  await checkUnfinished(
    { unheld, unended: await findUnendedStreams(context) },
    { report, context, hasEngine: workers.size > 0 },
  )
  return report
}

/** Ended runs whose stream has not ended, even after a wait. */
async function findUnendedStreams({ deps: { store, streams, clock } }: ServiceContext): Promise<RunId[]> {
  const candidates: RunId[] = []
  for (const id of await streams.unended(UNENDED_PAGE)) {
    const run = await store.runs.getAnywhere(id)
    if (run && isOver(run)) candidates.push(id)
  }
  if (candidates.length === 0) return []
  await clock.sleep(STREAM_END_MS)
  const still = new Set(await streams.unended(UNENDED_PAGE))
  return candidates.filter((id) => still.has(id))
}

async function disabledWebhooks(context: ServiceContext): Promise<StoreNotice[]> {
  const webhooks = await listWebhooks(context)
  return webhooks.flatMap(({ id, state, stateReason = '' }) =>
    state === 'disabled' ? [{ where: id, detail: `the webhook is disabled. ${stateReason}` }] : [],
  )
}

const isHeld = ({ leaseOwner }: Run, workers: ReadonlySet<string>): boolean =>
  leaseOwner !== undefined && workers.has(leaseOwner)

/** Between two pages a run may end and the next begin, or an approval be answered: read again before reporting. */
async function checkLinks(linked: RunSummary[], context: ServiceContext): Promise<Violation[]> {
  const suspected = checkAcrossRuns({ runs: linked })
  if (suspected.length === 0) return []
  const now: RunSummary[] = []
  for (const before of linked) now.push((await summaryNow(before.id, context)) ?? before)
  const missing = now.flatMap(({ answered }) => (answered ? [answered.continuedBy] : []))
  const known = new Set(now.map((run) => run.id))
  for (const id of missing) {
    const continuation = known.has(id) ? undefined : await summaryNow(id, context)
    if (continuation) now.push(continuation)
  }
  const suspectedDetails = new Set(suspected.map((violation) => violation.detail))
  return checkAcrossRuns({ runs: now }).filter((violation) => suspectedDetails.has(violation.detail))
}

async function summaryNow(id: RunId, { deps }: ServiceContext): Promise<RunSummary | undefined> {
  const events = await deps.store.events.read(id, 0)
  const run = await deps.store.runs.getAnywhere(id)
  return run && summarize({ run, events, messages: [] })
}

type UnfinishedRuns = { unheld: Run[]; unended: RunId[] }
type UnfinishedCheck = { report: StoreReport; context: ServiceContext; hasEngine: boolean }

/** Runs of a dead worker are not lost: another worker takes them over, within seconds if one is running. */
async function checkUnfinished({ unheld, unended }: UnfinishedRuns, check: UnfinishedCheck): Promise<void> {
  const { report, context, hasEngine } = check
  if (unheld.length + unended.length > 0 && hasEngine) await context.deps.clock.sleep(RECOVERY_MS)
  await checkUnheld(unheld, check)
  const still = new Set(unended.length > 0 ? await context.deps.streams.unended(UNENDED_PAGE) : [])
  for (const where of unended.filter((id) => still.has(id))) {
    if (hasEngine) addViolation(oneTerminal, { where, detail: 'the run has ended but its stream has not' }, report)
    else
      report.notices.push({
        where,
        detail: 'the run has ended but its stream has not; a running server or the next reader ends it',
      })
  }
}

async function checkUnheld(unheld: Run[], { report, context, hasEngine }: UnfinishedCheck): Promise<void> {
  const { store } = context.deps
  const liveWorkers = await context.snapshot.liveWorkers()
  for (const before of unheld) {
    const run = await store.runs.getAnywhere(before.id)
    if (!run || phaseOf(run) !== 'running' || isHeld(run, liveWorkers)) continue
    const isStuck = hasEngine && run.fence === before.fence && run.deaths + 1 < QUARANTINE_FROM
    const detail = `no worker has held it for ${RECOVERY_MS} ms although one is running`
    if (isStuck) addViolation(noZombie, { where: run.id, detail }, report)
    else report.notices.push({ where: run.id, detail: takeoverDetail(hasEngine) })
  }
}

const addViolation = <Subject>(
  { id, sentence, promise }: Invariant<Subject>,
  found: StoreNotice,
  { violations }: StoreReport,
): void => void violations.push({ invariant: id, sentence, promise, ...found })

const takeoverDetail = (hasEngine: boolean): string =>
  hasEngine
    ? 'its worker died; another worker takes it over and runs it alone'
    : 'its worker died; it continues when a server starts'
