import { existsSync, readFileSync } from 'node:fs'
import { openApp } from '../../../src/app.ts'
import { defined } from '../../../src/core/defined.ts'
import type { LoggedEvent } from '../../../src/core/event.ts'
import { type Message, textOf } from '../../../src/core/message.ts'
import { isSettled, type Run } from '../../../src/core/run.ts'
import { watchRun } from '../../../src/service/runs/watch-run.ts'
import type { ServiceContext } from '../../../src/service/service-context.ts'
import { checkStore } from '../../../src/service/store/check-store.ts'
import { readCommits, staleCommits } from './commits.ts'

/** One response that a client of a killed process received and reported. */
export type WorkerReport = {
  what: string
  key?: string
  runId?: string
  conversationId?: string
  next?: string
  number?: number
  body?: string
  reason?: string
  fault?: string
  text?: string
  workerId?: string
  runs?: number
  ms?: number
  openedMs?: number
  url?: string
  slowest?: { id: string; deaths: number }
}

type Effect = { tool: string; callId: string; key: string; runId: string }
type CheckedRun = { run: Run; events: LoggedEvent[]; messages: Message[] }
type KillCheckInput = {
  home: string
  effects: string
  reports: WorkerReport[]
  databaseUrl?: string
  /** Whether chunks may be missing: only after PostgreSQL itself has crashed. */
  chunks?: 'all-kept' | 'may-be-lost'
}

export type Check = { accepted: number; runs: number; effects: number; violations: string[] }

/** Every reported response must be true, every accepted run must have ended, and nothing may have happened twice. */
export async function checkAfterKills(parts: KillCheckInput): Promise<Check> {
  const { home, effects: file, reports, databaseUrl, chunks = 'all-kept' } = parts
  const environment = { HOLDFAST_HOME: home, ...defined({ DATABASE_URL: databaseUrl || undefined }) }
  const app = await openApp({ environment, role: 'guest' })
  try {
    const { context } = app
    const { violations: broken } = await checkStore(context)
    const records = new Map<string, CheckedRun>()
    for await (const record of context.snapshot.runs()) records.set(record.run.id, record)
    const effects = existsSync(file) ? readFileSync(file, 'utf8').split('\n').flatMap(parseEffect) : []
    const violations = [
      ...broken.map(({ invariant, where, detail }) => `${invariant} ${where}: ${detail}`),
      ...reports.flatMap((line) => checkReport(line, records)),
      ...checkEnded(records),
      ...checkIntake(records),
      ...checkEffects(effects, records),
      ...(await checkStreams(reports, records, { context, chunks })),
      ...staleCommits(await readCommits(parts)),
    ]
    const accepted = reports.filter(({ what }) => what === 'accepted').length
    return { accepted, runs: records.size, effects: effects.length, violations }
  } finally {
    await app.close()
  }
}

function checkReport(line: WorkerReport, records: Map<string, CheckedRun>): string[] {
  const record = line.runId ? records.get(line.runId) : undefined
  if (!line.runId) return []
  if (!record)
    return [`"${line.what}" was reported for ${line.runId}, which is not stored: an acknowledged run was lost`]
  const { stopReason } = record.run
  switch (line.what) {
    case 'cancelled': {
      const isWaitingPredecessor = stopReason === 'requires_approval'
      const isEarlierEnd = record.events.some(({ event }) => event.type === 'turn-ended') && !hasCancel(record)
      const isKept = stopReason === 'cancelled' || isWaitingPredecessor || isEarlierEnd
      return isKept ? [] : [`a cancel of ${line.runId} was accepted and the run ended ${stopReason}`]
    }
    case 'answered':
      return records.has(line.next!) ? [] : [`the run ${line.next} opened by an approval was lost`]
    case 'repeated':
      return line.next === line.runId
        ? []
        : [`${line.key} was sent again and opened ${line.next} besides ${line.runId}`]
    case 'hung':
      return [`a watcher of ${line.runId} was still waiting seconds after the run had ended`]
    case 'watched': {
      // A run that waits for approval may still be cancelled.
      const isKept = line.reason === stopReason || (line.reason === 'requires_approval' && stopReason === 'cancelled')
      return isKept
        ? []
        : [`a watcher of ${line.runId} received the end ${line.reason}, and the run ended ${stopReason}`]
    }
  }
  return []
}

const hasCancel = ({ events }: CheckedRun) => events.some(({ event }) => event.type === 'cancel-requested')

const checkEnded = (records: Map<string, CheckedRun>): string[] =>
  [...records.values()].flatMap(({ run }) => (isSettled(run) ? [] : [`${run.id} is still ${run.status}: it is stuck`]))

/** Each message has its key in its text, so a message accepted twice shows as two runs with the same text. */
function checkIntake(records: Map<string, CheckedRun>): string[] {
  const opened = [...records.values()].flatMap(({ run, events }) => {
    const first = events[0]?.event
    if (first?.type !== 'input-accepted' || first.continues) return []
    return first.inputs.map((input) => ({ id: run.id, text: textOf(input.content) }))
  })
  return [...Map.groupBy(opened, ({ text }) => text)]
    .filter(([, runs]) => runs.length > 1)
    .map(([text, runs]) => `"${text}" was accepted ${runs.length} times: ${runs.map(({ id }) => id).join(', ')}`)
}

/** Effects are recorded outside: at most once for `once` and guarded tools, exactly once if success was recorded. */
function checkEffects(effects: Effect[], records: Map<string, CheckedRun>): string[] {
  const counts = new Map<string, number>()
  const keys = new Map<string, Set<string>>()
  for (const { tool, callId, key, runId } of effects) {
    const execution = `${tool} ${runId} ${callId}`
    counts.set(execution, (counts.get(execution) ?? 0) + 1)
    keys.set(execution, (keys.get(execution) ?? new Set()).add(key))
  }
  const twice = [...counts].filter(([execution, count]) => count > 1 && !execution.startsWith('again '))
  const rekeyed = [...keys].filter(([, used]) => used.size > 1)
  const recorded = [...records.values()].flatMap(({ run, events }) =>
    events.flatMap(({ event }) =>
      event.type === 'tool-ended' && event.outcome.status === 'success' ? [`${run.id} ${event.outcome.callId}`] : [],
    ),
  )
  const happened = new Set([...counts.keys()].map((execution) => execution.split(' ').slice(1).join(' ')))
  return [
    ...twice.map(([execution, count]) => `${execution} took effect ${count} times`),
    ...rekeyed.map(([execution]) => `${execution} was executed under two keys`),
    ...recorded
      .filter((execution) => !happened.has(execution))
      .map((execution) => `${execution} is recorded as done and never happened`),
  ]
}

type StreamParts = { context: ServiceContext; chunks: 'all-kept' | 'may-be-lost' }

/** A chunk a watcher saw is still there under its number, and every stream has one end, last. */
async function checkStreams(
  reports: WorkerReport[],
  records: Map<string, CheckedRun>,
  parts: StreamParts,
): Promise<string[]> {
  const seen = Map.groupBy(
    reports.filter(({ what }) => what === 'saw'),
    ({ runId }) => runId!,
  )
  const violations: string[] = []
  for (const { run } of records.values())
    if (isSettled(run)) violations.push(...(await checkStream(run, seen.get(run.id) ?? [], parts)))
  return violations
}

async function checkStream(run: Run, seen: WorkerReport[], { context, chunks }: StreamParts): Promise<string[]> {
  const violations: string[] = []
  const kept = new Map<number, string>()
  let dones = 0
  let last = 0
  for await (const { number, chunk } of watchRun(run.id, { signal: AbortSignal.timeout(10_000) }, context)) {
    const isMarked = chunk.message_type === 'message_reset' && chunk.reason === 'numbers-lost'
    if (number !== last + 1 && !(chunks === 'may-be-lost' && isMarked && number > last))
      violations.push(`${run.id}: chunk ${number} follows ${last}`)
    last = number
    kept.set(number, JSON.stringify(chunk))
    if (chunk.message_type === 'done') dones++
  }
  if (dones !== 1) violations.push(`${run.id}: its stream has ${dones} ends`)
  // Two watchers must have seen the same content for a number, even if the chunk is not stored.
  for (const { number, body } of seen) {
    const now = kept.get(number!)
    if (now === undefined && chunks === 'may-be-lost') kept.set(number!, body!)
    else if (now !== body) violations.push(`${run.id}: chunk ${number} was ${body} and is ${now}`)
  }
  return violations
}

function parseEffect(line: string): Effect[] {
  if (line === '') return []
  return [JSON.parse(line) as Effect]
}
