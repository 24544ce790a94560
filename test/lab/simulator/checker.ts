import type { DatabaseSync } from 'node:sqlite'
import type { LoggedEvent } from '../../../src/core/event.ts'
import type { RunId } from '../../../src/core/id.ts'
import { checkConversation, checkRun, checkStream, checkTogether, summarize } from '../../../src/core/invariants/all.ts'
import type { Violation } from '../../../src/core/invariants/record.ts'
import { isSettled } from '../../../src/core/run.ts'
import type { Append } from '../../../src/ports/store.ts'
import type { OpenedStore } from '../../../src/storage/store.ts'
import type { Kernel } from './kernel.ts'
import type { Outside } from './tools.ts'
import type { Observer } from './unreliable-store.ts'

/** What clients were told and must still be true at the end. */
export type Memory = {
  accepted: { key: string; runId: RunId; text: string; how: 'opened' | 'steered' | 'repeated' }[]
  cancelled: RunId[]
  answered: { runId: RunId; next: RunId }[]
}

export type Checker = {
  observer: Observer
  outside: Outside
  memory: Memory
  violations: string[]
  reached: Map<string, number>
  died(process: string): void
  /** What every reader saw: a number of a stream has one content. */
  saw(runId: RunId, number: number, body: string): void
  atTheEnd(): Promise<void>
}

/** Watches a simulation from outside its processes: every commit as it happens, every effect, and the end. */
export function newChecker(
  kernel: Kernel,
  { database, opened }: { database: DatabaseSync; opened: OpenedStore },
): Checker {
  const { store, chunks, snapshot } = opened
  const violations: string[] = []
  const reached = new Map<string, number>()
  const logs = new Map<RunId, string[]>()
  const chunkBodies = new Map<string, string>()
  const effects = new Map<string, { tool: string; place: string; by: string[] }>()
  const dead = new Set<string>()
  const happened = new Set<string>()
  const recovering = new Set<string>()
  const memory: Memory = { accepted: [], cancelled: [], answered: [] }

  const reach = (state: string) => void reached.set(state, (reached.get(state) ?? 0) + 1)
  const violate = (text: string) => {
    if (violations.includes(text)) return
    violations.push(text)
    kernel.tell(`VIOLATION ${text}`)
  }
  const blame = (found: readonly Violation[]) => {
    for (const { invariant, where, detail } of found) violate(`${invariant} ${where}: ${detail}`)
  }

  const starts = database.prepare(
    `select body from events where run_number = (select number from runs where id = ?) and type = 'tool-started'`,
  )
  const fenceOf = database.prepare('select fence from runs where id = ?')

  const observer: Observer = {
    reached: reach,
    report: (process, fault, where) => {
      kernel.tell(`${process} reports ${where}: ${fault instanceof Error ? fault.message : fault}`)
      // The only faults a simulated world may produce are the store's: anything else is a bug of ours.
      if (!(fault instanceof Error && fault.name === 'StorageError'))
        violate(`a fault of our own in ${where}: ${fault}`)
    },
    recovering(process, step) {
      if (step === 'ends') recovering.delete(process)
      else recovering.add(process)
      if (recovering.size > 1) reach('two processes racing to recover one run')
    },
    async appended(process, { runId, writer, facts, intents }: Append) {
      const names = [...facts, ...intents].map(({ event }) => event.type)
      kernel.tell(`${process} commits to ${runId.slice(0, 12)}: ${names.join(', ')}`)
      const run = await store.runs.getAnywhere(runId)
      if (writer.type === 'holder' && run && run.fence !== writer.fence)
        violate(`I11 ${runId}: a worker with fence ${writer.fence} wrote although the fence is ${run.fence}`)
    },
    async changed(runId) {
      const run = await store.runs.getAnywhere(runId)
      if (!run) return violate(`${runId} is gone`)
      const [events, messages] = [await store.events.read(runId, 0), await store.messages.ofRun(runId)]
      compareWithBefore(runId, events)
      blame(checkRun({ run, events, messages }))
    },
  }

  /** Committed rows never change: the log of a moment ago is a prefix of the log of now. */
  function compareWithBefore(runId: RunId, events: LoggedEvent[]) {
    const before = logs.get(runId) ?? []
    const now = events.map((event) => JSON.stringify(event))
    const isPrefix = now.length >= before.length && before.every((line, index) => line === now[index])
    if (!isPrefix) violate(`I6 ${runId}: an event that was committed has changed or is gone`)
    logs.set(runId, now)
  }

  const outside: Outside = {
    begun(tool, { runId, callId }) {
      const fence = Number(fenceOf.get(runId)?.fence)
      const started = starts.all(runId).map(({ body }) => JSON.parse(String(body)) as { callId: string; fence: number })
      const mine = started.filter((event) => event.callId === callId)
      if (mine.length === 0) violate(`I3 ${runId}: ${tool} ${callId} began before its start was on disk`)
      kernel.tell(`${tool} ${callId} begins (fence ${fence})`)
    },
    effect(tool, { runId, callId, conversationId, idempotencyKey }, process) {
      const place = `${tool} ${callId} in ${conversationId.slice(0, 12)}`
      kernel.tell(`${place} takes effect`)
      const known = effects.get(idempotencyKey) ?? { tool, place: `${runId} ${callId}`, by: [] }
      if (known.by.length > 0 && !mayHappenAgain(tool, known.by, process))
        violate(`I28 ${tool} ${known.place} took effect in ${known.by} and again in ${process}`)
      effects.set(idempotencyKey, { ...known, by: [...known.by, process] })
      happened.add(`${runId} ${callId}`)
      const started = starts.all(runId).map(({ body }) => JSON.parse(String(body)) as { callId: string; fence: number })
      const fence = Number(fenceOf.get(runId)?.fence)
      if (started.some((event) => event.callId === callId && event.fence < fence)) reach('lease lost while a tool runs')
    },
    hasHappened: (key) => effects.has(key),
  }

  /**
   * Tools without effects and idempotent ones may. A verifiable one may if another worker, paused and not dead, was
   * still at it: no check can see what has not happened yet.
   */
  function mayHappenAgain(tool: string, by: string[], process: string): boolean {
    if (tool === 'look' || tool === 'again') return true
    return tool === 'check' && !by.includes(process) && by.some((other) => !dead.has(other))
  }

  async function atTheEnd() {
    const summaries = []
    const texts = new Map<string, number>()
    const recorded = new Map<RunId, string>()
    for await (const record of snapshot.runs()) {
      const { run, events, messages } = record
      blame(checkRun(record))
      summaries.push(summarize(record))
      if (!isSettled(run)) violate(`I13 ${run.id} is still ${run.waiting ? 'waiting' : run.status} when all is quiet`)
      recorded.set(run.id, JSON.stringify(events))
      for (const { body } of messages)
        if (body.role === 'user')
          for (const part of body.content)
            if (part.type === 'text') texts.set(part.text, (texts.get(part.text) ?? 0) + 1)
      for (const { event } of events)
        if (
          event.type === 'tool-ended' &&
          event.outcome.status === 'success' &&
          !happened.has(`${run.id} ${event.outcome.callId}`)
        )
          violate(`I28 ${run.id}: ${event.outcome.callId} is recorded as done and never happened`)
      const stored = await chunks.read(run.id, 0, 100_000)
      const head = await chunks.head(run.id)
      blame(checkStream({ run, events, chunks: stored, ended: head?.ended ?? false }))
      if (head && !head.ended) violate(`I25 ${run.id}: its stream has no end`)
      for (const { number, body } of stored) saw(run.id, number, body)
    }
    blame(checkTogether({ runs: summaries }))
    for await (const record of snapshot.conversations()) blame(checkConversation(record))
    for (const [text, count] of texts) if (count > 1) violate(`I8 "${text}" is in the history ${count} times`)
    checkMemory(recorded)
  }

  function checkMemory(recorded: Map<RunId, string>) {
    const runOfKey = new Map<string, RunId>()
    for (const { key, runId, text } of memory.accepted) {
      const log = recorded.get(runId)
      if (log === undefined) violate(`I7 ${runId} was acknowledged and is not there`)
      else if (!log.includes(JSON.stringify(text)))
        violate(`I7 "${text}" was acknowledged and is not in the log of ${runId}`)
      const known = runOfKey.get(key)
      if (known !== undefined && known !== runId) violate(`I8 the key ${key} opened ${known} and ${runId}`)
      runOfKey.set(key, runId)
    }
    for (const runId of memory.cancelled) {
      const log = JSON.parse(recorded.get(runId) ?? '[]') as LoggedEvent[]
      const cancelAt = log.findIndex(({ event }) => event.type === 'cancel-requested')
      const ends = log.filter(({ event }) => event.type === 'turn-ended')
      const last = ends.at(-1)?.event
      const isCancelled =
        last?.type === 'turn-ended' && (last.stopReason === 'cancelled' || last.error?.errorType === 'time_limit')
      if (cancelAt >= 0 && !isCancelled) violate(`I20 a cancel of ${runId} was accepted and it ended otherwise`)
    }
    for (const { runId, next } of memory.answered)
      if (!recorded.has(next)) violate(`I21 the answer to ${runId} was accepted and its run ${next} is not there`)
  }

  function saw(runId: RunId, number: number, body: string) {
    const place = `${runId} ${number}`
    const known = chunkBodies.get(place)
    if (known !== undefined && known !== body) violate(`I24 chunk ${place} has two contents`)
    chunkBodies.set(place, body)
  }

  return { observer, outside, memory, violations, reached, died: (process) => void dead.add(process), saw, atTheEnd }
}
