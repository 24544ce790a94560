import { NOTHING_STREAMED, renderEvent, streamedContentOf } from '../core/chunk.ts'
import type { LoggedEvent, TurnEvent } from '../core/event.ts'
import type { MessageBody } from '../core/message.ts'
import { type ProjectedEvent, project } from '../core/projection.ts'
import type { Run } from '../core/run.ts'
import { apply, nextAction, type Turn } from '../core/turn.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'
import type { RunStream } from '../ports/streams.ts'
import type { AcquiredHistory } from './history-cache.ts'
import { LEASE_MS } from './lease.ts'
import { retryWhileTransient } from './retry-store.ts'
import type { StopCause } from './stop.ts'

/** Another worker has taken the lease: this turn stops without writing. */
export class LeaseLost extends Error {}

/** The state of a running turn as of its last commit. */
export type Journal = {
  readonly turn: Turn
  /** The sequence number the next event will get. */
  readonly nextSeq: number
  /**
   * Throws `LeaseLost` if the lease is lost. Call before a model request, which no commit precedes: after a wait or a
   * machine's sleep, the lease may have expired.
   */
  requireLease(): Promise<void>
  /** The messages in the model's context, including those of this run. */
  history(): Promise<readonly MessageBody[]>
  /**
   * Commits the batch, and as intents every event that follows from state alone. Resolves when they are durable and
   * `turn` includes them and the events of other writers.
   */
  commit(batch: Batch): Promise<void>
}

/** The events of one commit: facts are always appended, intents only if no other writer appended meanwhile. */
export type Batch = { facts: readonly TurnEvent[]; intents?: readonly TurnEvent[] }

type JournalOptions = {
  run: Run
  fence: number
  turn: Turn
  nextSeq: number
  store: Pick<Store, 'events' | 'messages' | 'runs'>
  stream: RunStream
  cached: AcquiredHistory
  clock: Clock
  stop: {
    /** Aborted when this process gives the turn up: store calls are no longer retried. */
    left: AbortSignal
    cause(): StopCause | undefined
  }
}

export function openJournal(options: JournalOptions): Journal {
  const { run, fence, store, stream, cached, clock, stop } = options
  let { turn, nextSeq } = options
  let commits = 0
  let heldAt = clock.monotonic()

  return {
    get turn() {
      return turn
    },
    get nextSeq() {
      return nextSeq
    },
    async requireLease() {
      if (clock.monotonic() - heldAt < LEASE_MS) return
      const now = await retryWhileTransient(() => store.runs.getAnywhere(run.id), { clock, signal: stop.left })
      if (now?.fence !== fence) throw new LeaseLost()
      heldAt = clock.monotonic()
    },
    async history() {
      if (cached.bodies) return cached.bodies
      const read = () => store.messages.context(run.conversationId)
      const bodies = (await retryWhileTransient(read, { clock, signal: stop.left })).map((message) => message.body)
      cached.load(bodies)
      return bodies
    },
    async commit(batch) {
      const context = { runId: run.id, at: clock.now(), holdsConversation: true }
      const { after, ...decided } = decideCommit(turn, batch, { fence, context })
      if (after.phase !== 'going') await stream.begin()
      // During shutdown only facts are recorded; the next worker decides what to start.
      if (stop.cause() === 'leaving') decided.intents = []
      // Only this holder has this fence, so fence and count identify a commit within the run.
      const commitId = `${fence}.${++commits}`
      const append = { runId: run.id, commitId, writer: { type: 'holder', fence } as const, seen: nextSeq, ...decided }
      const result = await retryWhileTransient((isRetry) => store.events.append({ ...append, isRetry }), {
        clock,
        signal: stop.left,
      })
      if (result.type === 'refused') throw new LeaseLost()
      heldAt = clock.monotonic()
      for (const logged of result.news) follow(logged)
      const kept = result.intentsKept ? [...decided.facts, ...decided.intents] : decided.facts
      for (const entry of kept) updateHistory(entry)
    },
  }

  /** Streams and folds an event, of this or another writer. */
  function follow({ seq, at, event }: LoggedEvent) {
    const wasStreamed = (streamedContentOf(event)?.streamedTo ?? 0) > 0
    stream.write(renderEvent(turn, event, wasStreamed ? 'all' : NOTHING_STREAMED), seq, at)
    turn = apply(turn, event)
    nextSeq = seq + 1
  }

  function updateHistory({ event, changes }: ProjectedEvent) {
    // The context has changed; it is read again when needed.
    if (event.type === 'context-compacted' && !event.forTurn) cached.invalidate()
    for (const change of changes) if (change.type === 'add-message') cached.append(change.message.body)
  }
}

/** The batch with row changes, plus as intents events that follow from state alone: starts, settlements, the end. */
export function decideCommit(
  before: Turn,
  { facts, intents: givenIntents = [] }: Batch,
  { fence, context }: { fence: number; context: { runId: Run['id']; at: number; holdsConversation: boolean } },
): { facts: ProjectedEvent[]; intents: ProjectedEvent[]; after: Turn } {
  let turn = before
  const projectNext = (event: TurnEvent): ProjectedEvent => {
    const entry = { event, at: context.at, changes: project(turn, event, context) }
    turn = apply(turn, event)
    return entry
  }
  const factEntries = facts.map(projectNext)
  const intents = givenIntents.map(projectNext)
  for (let action = nextAction(turn, fence); action.type === 'record'; action = nextAction(turn, fence))
    intents.push(...action.events.map(projectNext))
  return { facts: factEntries, intents, after: turn }
}
