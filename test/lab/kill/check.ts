import { existsSync, readFileSync } from 'node:fs'
import { openApp } from '../../../src/app.ts'
import type { LoggedEvent } from '../../../src/core/event.ts'
import type { Message } from '../../../src/core/message.ts'
import { isSettled, type Run } from '../../../src/core/run.ts'
import { checkStore } from '../../../src/service/check-store.ts'
import type { Desk } from '../../../src/service/desk.ts'
import { watchRun } from '../../../src/service/watch-run.ts'

/** What a client of a killed process was told before it died. */
export type Told = {
  what: string
  key?: string
  runId?: string
  conversationId?: string
  next?: string
  number?: number
  id?: string
  text?: string
}

type Effect = { tool: string; callId: string; key: string; runId: string }
type Record = { run: Run; events: LoggedEvent[]; messages: Message[] }
type Parts = { home: string; effects: string; told: Told[]; databaseUrl?: string }

export type Check = { accepted: number; runs: number; effects: number; violations: string[] }

/** Everything that was told must be true, everything accepted must have ended, and nothing may have happened twice. */
export async function checkAfterKills({ home, effects: file, told, databaseUrl }: Parts): Promise<Check> {
  const environment = { HOLDFAST_HOME: home, ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}) }
  const app = await openApp({ environment, role: 'guest' })
  try {
    const { desk } = app
    const { violations: broken } = await checkStore(desk)
    const records = new Map<string, Record>()
    for await (const record of desk.snapshot.runs()) records.set(record.run.id, record)
    const effects = existsSync(file) ? readFileSync(file, 'utf8').split('\n').flatMap(parseEffect) : []
    const violations = [
      ...broken.map(({ invariant, where, detail }) => `${invariant} ${where}: ${detail}`),
      ...checkTold(told, records),
      ...checkEnded(records),
      ...checkEffects(effects, records),
      ...(await checkStreams(told, records, desk)),
    ]
    const accepted = told.filter(({ what }) => what === 'accepted').length
    return { accepted, runs: records.size, effects: effects.length, violations }
  } finally {
    await app.close()
  }
}

function checkTold(told: Told[], records: Map<string, Record>): string[] {
  return told.flatMap((line) => {
    const record = line.runId ? records.get(line.runId) : undefined
    if (line.runId && !record)
      return [`told ${line.what} of ${line.runId}, which is not there: an acknowledged run was lost`]
    if (line.what === 'cancelled' && record!.run.stopReason !== 'cancelled') {
      const isWaitingPredecessor = record!.run.stopReason === 'requires_approval'
      const isEarlierEnd = record!.events.some(({ event }) => event.type === 'turn-ended') && !hasCancel(record!)
      if (!isWaitingPredecessor && !isEarlierEnd)
        return [`a cancel of ${line.runId} was accepted and the run ended ${record!.run.stopReason}`]
    }
    if (line.what === 'answered' && !records.has(line.next!))
      return [`the run ${line.next} opened by an approval was lost`]
    return []
  })
}

const hasCancel = ({ events }: Record) => events.some(({ event }) => event.type === 'cancel-requested')

const checkEnded = (records: Map<string, Record>): string[] =>
  [...records.values()].flatMap(({ run }) => (isSettled(run) ? [] : [`${run.id} is still ${run.status}: it is stuck`]))

/** Effects are counted outside. `once` and guarded ones at most once, exactly once where success was recorded. */
function checkEffects(effects: Effect[], records: Map<string, Record>): string[] {
  const counts = new Map<string, number>()
  const keys = new Map<string, Set<string>>()
  for (const { tool, callId, key, runId } of effects) {
    const place = `${tool} ${runId} ${callId}`
    counts.set(place, (counts.get(place) ?? 0) + 1)
    keys.set(place, (keys.get(place) ?? new Set()).add(key))
  }
  const twice = [...counts].filter(([place, count]) => count > 1 && !place.startsWith('again '))
  const rekeyed = [...keys].filter(([, used]) => used.size > 1)
  const recorded = [...records.values()].flatMap(({ run, events }) =>
    events.flatMap(({ event }) =>
      event.type === 'tool-ended' && event.outcome.status === 'success' ? [`${run.id} ${event.outcome.callId}`] : [],
    ),
  )
  const happened = new Set([...counts.keys()].map((place) => place.split(' ').slice(1).join(' ')))
  return [
    ...twice.map(([place, count]) => `${place} took effect ${count} times`),
    ...rekeyed.map(([place]) => `${place} was executed under two keys`),
    ...recorded
      .filter((place) => !happened.has(place))
      .map((place) => `${place} is recorded as done and never happened`),
  ]
}

/** A chunk a watcher saw is still there under its number, and every stream has one end, last. */
async function checkStreams(told: Told[], records: Map<string, Record>, desk: Desk): Promise<string[]> {
  const seenBy = Map.groupBy(
    told.filter(({ what }) => what === 'saw'),
    ({ runId }) => runId!,
  )
  const violations: string[] = []
  for (const { run } of records.values()) {
    const chunks = new Map<number, string>()
    let dones = 0
    let last = 0
    for await (const { number, chunk } of watchRun(run.id, { signal: AbortSignal.timeout(10_000) }, desk)) {
      if (number !== last + 1) violations.push(`${run.id}: chunk ${number} follows ${last}`)
      last = number
      if (chunk.message_type === 'assistant_message') chunks.set(number, chunk.content)
      if (chunk.message_type === 'done') dones++
    }
    if (dones !== 1) violations.push(`${run.id}: its stream has ${dones} ends`)
    for (const { number, text } of seenBy.get(run.id) ?? [])
      if (chunks.get(number!) !== text)
        violations.push(`${run.id}: chunk ${number} was "${text}" and is "${chunks.get(number!)}"`)
  }
  return violations
}

function parseEffect(line: string): Effect[] {
  if (line === '') return []
  return [JSON.parse(line) as Effect]
}
