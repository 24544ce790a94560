import { sql } from 'kysely'
import type { ConversationId, OrganizationId, RunId } from '../../core/id.ts'
import type { NewRun, OpenedRun } from '../../ports/store.ts'
import { insertInto } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { carrierOf } from './steers.ts'

/** A retry must follow its request within this time, unless the request says otherwise. */
const RETRY_WINDOW_MS = 5 * 60_000

/** The run that an earlier copy of this request opened, if there is one to attach to. Requires the opening lock. */
export async function findEarlierRequest(db: Executor, run: NewRun): Promise<OpenedRun | undefined> {
  const { request, conversationId } = run
  if (!request) return undefined
  const { otids, digest, isRetry, fingerprint, windowMs = RETRY_WINDOW_MS } = request
  for (const otid of otids) {
    const earlier = await db.get(byOtid, { conversation: conversationId, otid })
    if (!earlier) continue
    // The earlier run failed before its first message: a new request may use the same otid.
    if (earlier.status === 'failed' && Number(earlier.messages) === 0 && !isRetry) {
      await db.run(forgetOtids, { conversation: conversationId, run: earlier.request })
      continue
    }
    if (earlier.request_digest !== digest) return { type: 'otid-conflict', runId: earlier.id }
    return { type: 'repeated', runId: earlier.id, request: earlier.request }
  }
  if (otids.length > 0 || !fingerprint) return undefined
  if (!isRetry) return findRunOfRetry(db, run, fingerprint)
  const since = run.createdAt - windowMs
  const unanswered = await db.get(byFingerprint, { conversation: conversationId, fingerprint, since })
  if (!unanswered) return undefined
  return { type: 'repeated', runId: await carrierOf(db, unanswered.run_id), request: unanswered.run_id }
}

/**
 * The run that a retry of this request opened, because the retry got the opening lock first. Both waited at the same
 * time: the request was accepted before the retry. A later equal message is a new one, and each run takes one original.
 */
async function findRunOfRetry(
  db: Executor,
  { conversationId, createdAt, request }: NewRun,
  fingerprint: string,
): Promise<OpenedRun | undefined> {
  const ofRetry = await db.get(byLateOriginal, {
    conversation: conversationId,
    fingerprint,
    since: request?.arrivedAt ?? createdAt,
  })
  if (!ofRetry) return undefined
  await db.run(takeOriginal, { run: ofRetry.run_id })
  return { type: 'repeated', runId: await carrierOf(db, ofRetry.run_id), request: ofRetry.run_id }
}

/** Runs in the transaction that opens the run or steers another one. */
export async function saveRequest(db: Executor, run: NewRun): Promise<void> {
  const { request } = run
  if (!request) return
  const owner = { run_id: run.id, organization_id: run.organizationId, conversation_id: run.conversationId }
  const { otids, digest, fingerprint, isRetry } = request
  for (const otid of new Set(otids)) await db.run(insertOtid, { ...owner, otid, request_digest: digest })
  if (!fingerprint) return
  const awaits_original = isRetry && otids.length === 0 ? 1 : 0
  await db.run(insertRequest, { ...owner, fingerprint, answered: 0, awaits_original, created_at: run.createdAt })
}

/** The run that carries the newest copy of a request, answered or not. */
export async function findRunByFingerprint(db: Executor, key: FingerprintKey): Promise<RunId | undefined> {
  const found = await db.get(newestByFingerprint, key)
  return found && carrierOf(db, found.run_id)
}

export const markAnswered = (db: Executor, runId: RunId) => db.run(setAnswered, { run: runId })

export async function findRunByOtid(
  db: Executor,
  { organizationId, conversationId }: { organizationId: OrganizationId; conversationId: ConversationId },
  otid: string,
): Promise<RunId | undefined> {
  const found = await db.get(byOtid, { conversation: conversationId, otid })
  return found?.organization_id === organizationId ? found.id : undefined
}

const byOtid = statement<{ conversation: ConversationId; otid: string }>()((db, p) =>
  db
    .selectFrom('run_otids')
    .leftJoin('steers', 'steers.id', 'run_otids.run_id')
    .innerJoin('runs', (join) => join.on(sql<boolean>`runs.id = coalesce(steers.run_id, run_otids.run_id)`))
    .select(['runs.id', 'runs.status', 'runs.organization_id'])
    .select(['run_otids.request_digest', 'run_otids.run_id as request'])
    .select(sql<number>`(select count(*) from messages where messages.run_number = runs.number)`.as('messages'))
    .where('run_otids.conversation_id', '=', p('conversation'))
    .where('run_otids.otid', '=', p('otid')),
)

const forgetOtids = statement<{ conversation: ConversationId; run: RunId }>()((db, p) =>
  db.deleteFrom('run_otids').where('conversation_id', '=', p('conversation')).where('run_id', '=', p('run')),
)

type FingerprintKey = { conversation: ConversationId; fingerprint: string; since: number }

const newestByFingerprint = statement<FingerprintKey>()((db, p) =>
  db
    .selectFrom('run_requests')
    .select('run_id')
    .where('conversation_id', '=', p('conversation'))
    .where('fingerprint', '=', p('fingerprint'))
    .where('created_at', '>', p('since'))
    .orderBy('created_at', 'desc')
    .limit(sql.lit(1)),
)

const byFingerprint = statement<FingerprintKey>()((db, p) =>
  db
    .selectFrom('run_requests')
    .select('run_id')
    .where('conversation_id', '=', p('conversation'))
    .where('fingerprint', '=', p('fingerprint'))
    .where('answered', '=', sql.lit(0))
    .where('created_at', '>', p('since'))
    .orderBy('created_at', 'desc')
    .limit(sql.lit(1)),
)

const byLateOriginal = statement<FingerprintKey>()((db, p) =>
  db
    .selectFrom('run_requests')
    .select('run_id')
    .where('conversation_id', '=', p('conversation'))
    .where('fingerprint', '=', p('fingerprint'))
    .where('awaits_original', '=', sql.lit(1))
    .where('created_at', '>=', p('since'))
    .orderBy('created_at')
    .limit(sql.lit(1)),
)

const takeOriginal = statement<{ run: RunId }>()((db, p) =>
  db
    .updateTable('run_requests')
    .set({ awaits_original: sql.lit(0) })
    .where('run_id', '=', p('run')),
)

const insertOtid = insertInto('run_otids', ['conversation_id', 'otid', 'organization_id', 'run_id', 'request_digest'])

const insertRequest = insertInto('run_requests', [
  'run_id',
  'organization_id',
  'conversation_id',
  'fingerprint',
  'answered',
  'awaits_original',
  'created_at',
])

const setAnswered = statement<{ run: RunId }>()((db, p) =>
  db
    .updateTable('run_requests')
    .set({ answered: sql.lit(1) })
    .where('run_id', '=', p('run')),
)
