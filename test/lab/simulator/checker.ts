import type { DatabaseSync } from 'node:sqlite'
import { defined } from '../../../src/core/defined.ts'
import type { LoggedEvent, TurnEvent } from '../../../src/core/event.ts'
import type { RunId } from '../../../src/core/id.ts'
import {
  checkAcrossRuns,
  checkAuditChain,
  checkConversation,
  checkRun,
  checkStoredBytes,
  checkStream,
  summarize,
} from '../../../src/core/invariants/all.ts'
import type { Violation } from '../../../src/core/invariants/record.ts'
import { textOf } from '../../../src/core/message.ts'
import { isSettled, type Run } from '../../../src/core/run.ts'
import type { Append } from '../../../src/ports/store.ts'
import type { OpenedStore } from '../../../src/storage/store.ts'
import { approvalFaults } from './approval-check.ts'
import { attemptFaults, isRemainder } from './attempt-check.ts'
import { newContextCheck } from './context-check.ts'
import type { Kernel } from './kernel.ts'
import { type LadderStates, ladderStates } from './ladder-states.ts'
import { type ClientMemory, memoryFaults, newClientMemory } from './memory.ts'
import { newNoteCheck } from './note-check.ts'
import { orderFaults } from './order-check.ts'
import { subjectOf } from './parsed-prompt.ts'
import { type Granted, newPoolCheck } from './pool-check.ts'
import { newRequestCheck } from './request-check.ts'
import type { Setup } from './setup.ts'
import type { Outside } from './tools.ts'
import type { ModelCall, Observer } from './unreliable-store.ts'
import { SECRET, TOO_LONG, type Vendors } from './vendors.ts'

export type Checker = {
  observer: Observer
  outside: Outside
  memory: ClientMemory
  violations: string[]
  reached: Map<string, number>
  violate(text: string): void
  processDied(process: string): void
  /** From now on no faults are injected, so none may be recorded. */
  startCalmPhase(): void
  /** Records a chunk that a reader saw: each number of a stream has one content. */
  sawChunk(runId: RunId, number: number, body: string): void
  /** When the last cooldown ends. */
  lastCooldown(): number
  checkAtEnd(): Promise<void>
}

/** Ids a simulated server gives to more than one call of a run. */
const REPEATED_ID = /^(same|call-\d+)$/

export type CheckerDeps = {
  database: DatabaseSync
  opened: OpenedStore
  /** The runs that a process considers its own. */
  runningIn(process: string): readonly RunId[]
  vendors: Vendors
  setup: Setup
}

/** Events that must not occur without faults. */
const FAULT_EVENTS: readonly TurnEvent['type'][] = ['worker-lost', 'attempt-failed', 'fault-met']

/** Compaction also happens without faults, and it may find nothing to compact. */
const isHousekeeping = (event: TurnEvent): boolean =>
  event.type === 'attempt-failed' &&
  (event.failure.detail === TOO_LONG ||
    (event.purpose === 'summary'
      ? event.failure.kind === 'invalid-request'
      : event.failure.kind === 'context-overflow' && event.failure.requestId === undefined))

const ALWAYS_STREAMED: readonly TurnEvent['type'][] = ['attempt-failed', 'tool-ended', 'turn-ended']

/** The stream ends when the run ends or starts to wait; until then every such event has a chunk. */
function unstreamed(events: readonly LoggedEvent[], chunks: readonly { event: number }[]): number[] {
  const streamed = new Set(chunks.map((chunk) => chunk.event))
  const end = events.find(({ event }) => event.type === 'turn-ended')?.seq ?? 0
  return events.flatMap(({ seq, event }) =>
    seq <= end && ALWAYS_STREAMED.includes(event.type) && !streamed.has(seq) ? [seq] : [],
  )
}

type AttemptFailed = Extract<TurnEvent, { type: 'attempt-failed' }>
type AnswerReceived = Extract<TurnEvent, { type: 'answer-received' }>

/** No provider was called, so the pool has nothing else to offer. */
const NO_CREDENTIAL: Granted = { credentialId: 'credential-none', siblings: 0, canRefresh: false }

const eventText = (event: TurnEvent): string =>
  event.type === 'attempt-failed'
    ? `${event.purpose ?? 'attempt'} failed (${event.failure.kind}: ${event.remedy})`
    : event.type

type Effects = { call: string; by: string[]; last: number }
type Repetition = { known: Effects; begunAt: number; askedAt: number }

/**
 * True for tools without effects and idempotent ones. For a verifiable tool only if the other effect came after this
 * execution began or after the verification: a paused worker continued, and no check sees a later effect.
 */
function mayHappenAgain(tool: string, { known, begunAt, askedAt }: Repetition): boolean {
  if (tool === 'look' || tool === 'again' || tool === 'slow') return true
  return tool === 'check' && (known.last > begunAt || (askedAt > 0 && known.last > askedAt))
}

/** Observes a simulation from outside its processes: every commit, every effect, and the end. */
export function newChecker(kernel: Kernel, { database, opened, runningIn, vendors, setup }: CheckerDeps): Checker {
  const { store, chunks, snapshot } = opened
  const violations: string[] = []
  const reached = new Map<string, number>()
  const logs = new Map<RunId, { bodies: string[]; events: LoggedEvent[]; fence: number }>()
  const chunkBodies = new Map<string, string>()
  const effects = new Map<string, Effects>()
  /** By idempotency key, the process whose call took effect in the MCP program. */
  const tookEffect = new Map<string, string>()
  /** When a tool was last asked to verify this key and had not done it. */
  const notDone = new Map<string, number>()
  let moments = 0
  /** Executions in progress: `run fence process`. */
  const executing = new Map<number, string>()
  const keys = new Map<string, string>()
  const happened = new Set<string>()
  const processes = new Map<string, string>()
  /** Leases that were, or may have been, given back: `run fence`. */
  const returning = new Set<string>()
  const returned = new Set<string>()
  const bills = new Map<number, { text: string; runId?: RunId }>()
  /** Model requests by the request id of the vendor. */
  const asks = new Map<string, { ask: ModelCall; granted?: Granted }>()
  const ladders = new Map<RunId, LadderStates>()
  /** The abandoned runs at the time each process began to look for them. */
  const looking = new Map<string, Set<string>>()
  const memory = newClientMemory()
  let isCalm = false

  const reach = (state: string) => void reached.set(state, (reached.get(state) ?? 0) + 1)
  const violate = (text: string) => {
    if (violations.includes(text)) return
    violations.push(text)
    kernel.log(`VIOLATION ${text}`)
  }
  const blame = (found: readonly Violation[]) => {
    for (const { invariant, where, detail } of found) violate(`${invariant} ${where}: ${detail}`)
  }
  const notes = newNoteCheck(database)
  const processOf = (workerId: string) => processes.get(workerId)
  const requests = newRequestCheck({ database, notes, setup, processOf })
  const { environmentIds } = vendors
  const pools = newPoolCheck({ database, environmentIds, reach: (state) => reach(state) })
  const contexts = newContextCheck(database)

  const logOf = database.prepare(
    'select seq, at, body, commit_id from events where run_number = (select number from runs where id = ?) order by seq',
  )
  const starts = database.prepare(
    `select body from events where run_number = (select number from runs where id = ?) and type = 'tool-started'`,
  )
  const fenceOf = database.prepare('select fence from runs where id = ?')
  const rightOf = database.prepare('select lease_owner, fence from runs where id = ?')
  const abandoned = database.prepare(
    `select id from runs where status = 'running' and (lease_owner is null or not exists (
       select 1 from workers where workers.id = runs.lease_owner and workers.expires_at > ?))`,
  )
  const queuedBefore = database.prepare(
    `select earlier.id from runs as earlier join runs as taken on taken.conversation_id = earlier.conversation_id
     where taken.id = ? and earlier.status = 'created' and earlier.number < taken.number
       and earlier.queue_rank <= taken.queue_rank`,
  )

  const observer: Observer = {
    reached: reach,
    report: (process, fault, where) => {
      kernel.log(`${process} reports ${where}: ${fault instanceof Error ? fault.message : fault}`)
      // Only the simulated store may fail; any other error is a bug.
      if (!(fault instanceof Error && fault.name === 'StorageError')) violate(`an internal error in ${where}: ${fault}`)
      else if (isCalm) violate(`an error without faults in ${where}: ${fault.message}`)
    },
    beats: (process, workerId) => void processes.set(workerId, process),
    recovering(process) {
      looking.set(process, new Set(abandoned.all(Math.floor(kernel.now())).map(({ id }) => String(id))))
    },
    recovered(process, claim) {
      looking.delete(process)
      if (!claim) return
      const { id, fence } = claim.run
      for (const candidates of looking.values())
        if (candidates.has(id)) reach('two processes racing to recover one run')
      const last = claim.events.at(-1)?.event
      const isDeathTold = last?.type === 'worker-lost' && last.fence === fence - 1
      const lease = `${id} ${fence - 1}`
      if (!returning.has(lease) && !isDeathTold)
        violate(`I14 ${id}: its worker was lost and its log does not record it`)
      if (returned.has(lease) && isDeathTold) violate(`I14 ${id}: it was handed back and its log records a death`)
      requests.claimed(process, id)
      kernel.log(`${process} takes over ${id}`)
    },
    claimed(process, { run }) {
      requests.claimed(process, run.id)
      kernel.log(`${process} claims ${run.id}`)
      for (const { id } of queuedBefore.all(run.id)) violate(`I15 ${run.id} was taken from the queue before ${id}`)
    },
    handingBack: (runId, fence) => void returning.add(`${runId} ${fence}`),
    handedBack(process, runId, fence) {
      const row = rightOf.get(runId)
      if (row?.lease_owner !== null || row?.fence !== fence) return
      returned.add(`${runId} ${fence}`)
      if ([...executing.values()].includes(`${runId} ${fence} ${process}`))
        violate(`I13 ${process} hands ${runId} back while one of its tools runs`)
    },
    asked(ask) {
      for (const fault of requests.faultsOf(ask)) violate(fault)
      if (ask.prompt.isSummary) contexts.heardSummary(ask.request)
      const requestId = `request-${asks.size + 1}`
      const granted = ask.grant && pools.grantedBy(ask.grant)
      asks.set(requestId, { ask, ...defined({ granted }) })
      kernel.log(
        `${ask.process} asks ${ask.request.model} with ${ask.grant?.credentialId ?? 'no key'}: ${ask.prompt.isSummary ? 'a summary' : ask.prompt.text}`,
      )
      return requestId
    },
    answered: (bill, text) => void bills.set(bill, { text }),
    viewPool: pools.view,
    chose(process, chosen) {
      for (const fault of pools.faultsOf(process, chosen)) violate(fault)
    },
    async appended(process, { runId, facts, intents }: Append) {
      for (const { event } of facts) pools.recordWriter(process, event)
      const names = [...facts, ...intents].map(({ event }) => eventText(event))
      kernel.log(`${process} commits to ${runId}: ${names.join(', ') || 'nothing'}`)
    },
    async changed(runId) {
      // Other processes commit between two reads: only a consistent read is checked.
      for (;;) {
        const before = await store.runs.getAnywhere(runId)
        const messages = await store.messages.ofRun(runId)
        const run = await store.runs.getAnywhere(runId)
        if (!before || !run) return violate(`${runId} is gone`)
        const events = readLog(run)
        if (before.nextSeq !== run.nextSeq || events.length !== run.nextSeq - 1) continue
        blame(checkRun({ run, events, messages }))
        const ofAttempts = [...attemptFaults(events, knownOf), ...notes.keptFaults(events)]
        const faults = [...ofAttempts, ...approvalFaults(events), ...contexts.changedMessages()]
        for (const fault of faults) violate(`${fault} (${runId})`)
        return
      }
    },
  }

  /** How many other credentials were available, if a vendor was called. */
  function knownOf({ failure, credentialId }: AttemptFailed): Granted | undefined {
    if (credentialId === undefined) return NO_CREDENTIAL
    return failure.requestId === undefined ? undefined : asks.get(failure.requestId)?.granted
  }

  /** Committed rows never change: the earlier log is a prefix of the current one. */
  function readLog(run: Run): LoggedEvent[] {
    const { id, conversationId } = run
    const rows = logOf.all(id) as { seq: number; at: number; body: string; commit_id: string }[]
    const known = logs.get(id) ?? { bodies: [], events: [], fence: 0 }
    const isPrefix =
      rows.length >= known.bodies.length && known.bodies.every((body, index) => body === rows[index]?.body)
    if (!isPrefix) violate(`I6 ${id}: an event that was committed has changed or is gone`)
    for (const { seq, at, body, commit_id } of rows.slice(known.bodies.length)) {
      const event = JSON.parse(body) as TurnEvent
      // Commit ids contain the fence of the holder; a death locks out its fence.
      const fence = Number(/^(\d+)\./.exec(commit_id)?.[1] ?? known.fence)
      if (fence < known.fence) violate(`I11 ${id}: event ${seq} is by fence ${fence} after fence ${known.fence}`)
      known.fence = event.type === 'worker-lost' ? event.fence + 1 : Math.max(fence, known.fence)
      known.bodies.push(body)
      known.events.push({ seq, at, event })
      if (body.includes(SECRET)) violate(`I32 ${id}: a secret is in its log`)
      hear(run, event)
      const ladder = ladders.get(id) ?? ladderStates()
      ladders.set(id, ladder)
      for (const state of ladder.take(event, fence)) reach(state)
      if (event.type !== 'input-accepted' && event.type !== 'input-steered') continue
      for (const input of event.inputs) requests.heard(subjectOf(textOf(input.content)), conversationId)
    }
    logs.set(id, known)
    return known.events
  }

  function hear(run: Run, event: TurnEvent) {
    const runId = run.id
    if (isCalm && FAULT_EVENTS.includes(event.type) && !isHousekeeping(event))
      violate(`${event.type} without faults (${runId}): ${eventText(event)}`)
    // Tools and models cannot make the engine fail, and store errors are transient: an internal error is a bug.
    if (event.type === 'fault-met') violate(`I12 ${runId}: an internal error ended it: ${event.detail}`)
    if (event.type === 'worker-lost') kernel.log(`${runId} has lost its worker`)
    if (event.type === 'answer-cut' && (event as { calls?: unknown }).calls)
      violate(`I19 ${runId}: an answer that was cut off has calls`)
    if (event.type === 'context-compacted')
      for (const fault of contexts.compacted(run, event)) violate(`I9 ${runId}: ${fault}`)
    if (event.type === 'input-accepted' && event.settings.task && contexts.hasOpenCall(run))
      reach('an explicit compaction behind an open call')
    if (event.type === 'attempt-failed') hearFailure(runId, event)
    if (event.type === 'answer-received') hearAnswer(runId, event)
  }

  function hearFailure(runId: RunId, event: AttemptFailed) {
    const asked = event.failure.requestId === undefined ? undefined : asks.get(event.failure.requestId)
    const made = asked?.ask.grant?.credentialId
    if (asked && made !== event.credentialId)
      violate(`I16 ${runId}: a request made with ${made} is charged to ${event.credentialId}`)
    for (const fault of pools.cooldownFaults(event, asked?.granted)) violate(`I16 ${runId}: ${fault}`)
    const { failure, remedy, purpose } = event
    const isOurOwn = failure.kind === 'context-overflow' && failure.requestId === undefined && purpose !== 'summary'
    if (isOurOwn && remedy !== 'compact')
      violate(`I9 ${runId}: the context overflowed before a call, and the remedy is ${remedy} instead of compact`)
  }

  function hearAnswer(runId: RunId, event: AnswerReceived) {
    const { finish, calls, usage, credentialId, target } = event
    if (finish === 'length' && calls.length > 0) violate(`I3 ${runId}: an answer that was cut off has calls`)
    if (isCalm && target > 0) violate(`I16 ${runId}: target ${target} answered without faults`)
    if (isCalm && credentialId && pools.cooldownOf(credentialId))
      violate(`I16 ${runId}: ${credentialId} succeeded and still has a cooldown`)
    const stored = contexts.textOfMessage(event.answerId)
    const bill = usage.reasoningTokens
    if (isRemainder(event)) return
    const finished = bill === undefined ? undefined : bills.get(bill)
    if (!finished) return violate(`I3 ${runId}: an answer is recorded that the model never finished`)
    if (finished.runId) violate(`I8 an answer is recorded in ${finished.runId} and in ${runId}`)
    if (finish === 'stop' ? stored !== finished.text : calls.length === 0 && !finished.text.startsWith(stored))
      violate(`I26 ${runId}: the stored answer is "${stored}", the model said "${finished.text}"`)
    finished.runId = runId
  }

  const outside: Outside = {
    begun(tool, { runId, callId }, process) {
      const fence = Number(fenceOf.get(runId)?.fence)
      const started = starts.all(runId).map(({ body }) => JSON.parse(String(body)) as { callId: string; fence: number })
      const mine = started.filter((event) => event.callId === callId)
      if (mine.length === 0) violate(`I3 ${runId}: ${tool} ${callId} began before its start was on disk`)
      kernel.log(`${tool} ${callId} begins in ${runId} (fence ${fence})`)
      executing.set(++moments, `${runId} ${mine.at(-1)?.fence} ${process}`)
      return moments
    },
    over: (begunAt) => void executing.delete(begunAt),
    effect(tool, { runId, callId, idempotencyKey }, { begunAt, process }) {
      kernel.log(`${tool} ${callId} takes effect in ${runId}, run by ${process}`)
      const known = effects.get(idempotencyKey) ?? { call: `${runId} ${callId}`, by: [], last: 0 }
      if (known.call !== `${runId} ${callId}`)
        violate(`I28 ${tool} ${runId} ${callId} has the idempotency key of ${known.call}`)
      if (known.by.length > 0 && !mayHappenAgain(tool, { known, begunAt, askedAt: notDone.get(idempotencyKey) ?? 0 }))
        violate(`I28 ${tool} ${known.call} took effect in ${known.by} and again in ${process}`)
      const call = `${runId} ${callId}`
      const key = keys.get(call) ?? idempotencyKey
      if (key !== idempotencyKey && !REPEATED_ID.test(callId))
        violate(`I28 ${tool} ${call} ran under two idempotency keys`)
      keys.set(call, idempotencyKey)
      effects.set(idempotencyKey, { ...known, by: [...known.by, process], last: ++moments })
      happened.add(`${runId} ${callId}`)
      const started = starts.all(runId).map(({ body }) => JSON.parse(String(body)) as { callId: string; fence: number })
      const right = rightOf.get(runId)
      const mine = started.filter((event) => event.callId === callId)
      if (mine.some((event) => event.fence < Number(right?.fence))) reach('lease lost while a tool runs')
      // A turn that its process has forgotten cannot be cancelled in time and is handed back while it works.
      const isHeld = processes.get(String(right?.lease_owner)) === process && mine.at(-1)?.fence === right?.fence
      if (isHeld && !runningIn(process).includes(runId)) violate(`I13 ${process} runs ${runId} without tracking it`)
    },
    program: {
      called(tool, isChanged) {
        reach('call of an MCP program')
        if (isChanged) violate(`I28 ${tool} ran with a definition that was not approved`)
      },
      took({ tool, key, process }) {
        kernel.log(`${tool} takes effect in its program, called by ${process}`)
        const before = tookEffect.get(key)
        if (before !== undefined) violate(`I28 ${tool} took effect for ${before} and again for ${process}`)
        tookEffect.set(key, process)
      },
    },
    hasHappened(key) {
      if (!effects.has(key)) notDone.set(key, ++moments)
      return effects.has(key)
    },
  }

  async function atTheEnd() {
    const summaries = []
    const texts = new Map<string, number>()
    const recorded = new Map<RunId, { run: Run; events: LoggedEvent[] }>()
    for await (const record of snapshot.runs()) {
      const { run, events, messages } = record
      blame(checkRun(record))
      summaries.push(summarize(record))
      if (!isSettled(run)) violate(`I13 ${run.id} is still ${run.waiting ? 'waiting' : run.status} at the end`)
      recorded.set(run.id, { run, events })
      for (const { body } of messages)
        if (body.role === 'user') texts.set(textOf(body.content), (texts.get(textOf(body.content)) ?? 0) + 1)
      for (const { event } of events)
        if (
          event.type === 'tool-ended' &&
          event.outcome.status === 'success' &&
          !happened.has(`${run.id} ${event.outcome.callId}`) &&
          !tookEffect.has(event.outcome.output.split(' under ')[1] ?? '')
        )
          violate(`I28 ${run.id}: ${event.outcome.callId} is recorded as done and never happened`)
      const stored = await chunks.read(run.id, 0, 100_000)
      const head = await chunks.head(run.id)
      blame(checkStream({ run, events, chunks: stored, ended: head?.ended ?? false }))
      if (head && !head.ended) violate(`I25 ${run.id}: its stream has no end`)
      else if (head)
        for (const seq of unstreamed(events, stored)) violate(`I24 ${run.id}: its stream has no chunk for event ${seq}`)
      for (const { number, body } of stored) saw(run.id, number, body)
    }
    blame(checkAcrossRuns({ runs: summaries }))
    for await (const record of snapshot.conversations()) blame(checkConversation(record))
    for (const record of await snapshot.storedBytes()) blame(checkStoredBytes(record))
    const audited = new Set<string | undefined>()
    for await (const record of snapshot.auditChains()) {
      blame(checkAuditChain(record))
      for (const { verb, object } of record.entries) if (verb === 'approval.answer') audited.add(object)
    }
    for (const [id, { events }] of recorded)
      if (events.some(({ event }) => event.type === 'approval-answered') && !audited.has(id))
        violate(`I35 ${id} was answered and the audit log does not say so`)
    for (const [text, count] of texts) if (count > 1) violate(`I8 "${text}" is in the history ${count} times`)
    const faults = [...orderFaults(database), ...memoryFaults(memory, recorded), ...contexts.atTheEnd()]
    for (const fault of faults) violate(fault)
  }

  function saw(runId: RunId, number: number, body: string) {
    const chunkKey = `${runId} ${number}`
    const known = chunkBodies.get(chunkKey)
    if (known !== undefined && known !== body) violate(`I24 chunk ${number} of ${runId} has two contents`)
    chunkBodies.set(chunkKey, body)
  }

  return {
    observer,
    outside,
    memory,
    violations,
    reached,
    violate,
    sawChunk: saw,
    checkAtEnd: atTheEnd,
    lastCooldown: pools.lastEnd,
    processDied(process) {
      looking.delete(process)
    },
    startCalmPhase() {
      isCalm = true
    },
  }
}
