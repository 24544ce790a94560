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

/** Another worker has taken the lease: this one stops silently. */
export class LeaseLost extends Error {}

/** A turn in memory, as current as its last commit. It lives exactly as long as the turn runs. */
export type Journal = {
  readonly turn: Turn
  /** The sequence number the next event will get. */
  readonly seen: number
  /**
   * Before something is asked that no commit announces. A process that slept for longer than a lease, or waited that long,
   * looks whether the run is still its own; another worker may have ended it since, and asking would be in vain.
   */
  requireHeld(): Promise<void>
  /** What the model has been shown and told so far in this conversation, this run included. */
  history(): Promise<readonly MessageBody[]>
  /**
   * Makes facts durable, together with the intents that follow from them: those given and every decision of state
   * alone. Resolves when they are on disk and the turn has folded them along with the events of other writers.
   */
  commit(batch: Batch): Promise<void>
}

/** What one commit brings: facts are appended whatever else arrived, intents only if nothing did. */
export type Batch = { facts: readonly TurnEvent[]; intents?: readonly TurnEvent[] }

type JournalOptions = {
  run: Run
  fence: number
  turn: Turn
  seen: number
  store: Pick<Store, 'events' | 'messages' | 'runs'>
  stream: RunStream
  cached: AcquiredHistory
  clock: Clock
  stop: {
    /** Aborted when this process gives the turn up: a commit that cannot succeed stops trying. */
    left: AbortSignal
    cause(): StopCause | undefined
  }
}

export function openJournal(parts: JournalOptions): Journal {
  const { run, fence, store, stream, cached, clock, stop } = parts
  let { turn, seen } = parts
  let commits = 0
  let heldAt = clock.monotonic()

  return {
    get turn() {
      return turn
    },
    get seen() {
      return seen
    },
    async requireHeld() {
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
      // A process that is leaving records what happened and begins nothing: the next one decides.
      if (stop.cause() === 'leaving') decided.intents = []
      // The fence is this holder's alone, so fence and count name a commit within the run.
      const commitId = `${fence}.${++commits}`
      const append = { runId: run.id, commitId, writer: { type: 'holder', fence } as const, seen, ...decided }
      const result = await retryWhileTransient((isRetry) => store.events.append({ ...append, isRetry }), {
        clock,
        signal: stop.left,
      })
      if (result.type === 'refused') throw new LeaseLost()
      heldAt = clock.monotonic()
      for (const logged of result.news) take(logged)
      const kept = result.intentsKept ? [...decided.facts, ...decided.intents] : decided.facts
      for (const entry of kept) remember(entry)
    },
  }

  function take({ seq, event }: LoggedEvent) {
    const wasStreamed = (streamedContentOf(event)?.streamedTo ?? 0) > 0
    stream.write(renderEvent(turn, event, wasStreamed ? 'all' : NOTHING_STREAMED), seq)
    turn = apply(turn, event)
    seen = seq + 1
  }

  function remember({ event, changes }: ProjectedEvent) {
    // What stays in view is another part of the conversation now; it is read again when it is needed.
    if (event.type === 'context-compacted') cached.invalidate()
    for (const change of changes) if (change.type === 'add-message') cached.append(change.message.body)
  }
}

/** The facts, and as intents all that state alone decides after them: starts, settlements, the end. */
export function decideCommit(
  before: Turn,
  { facts, intents: given = [] }: Batch,
  { fence, context }: { fence: number; context: { runId: Run['id']; at: number; holdsConversation: boolean } },
): { facts: ProjectedEvent[]; intents: ProjectedEvent[]; after: Turn } {
  let turn = before
  const enter = (event: TurnEvent): ProjectedEvent => {
    const entry = { event, at: context.at, changes: project(turn, event, context) }
    turn = apply(turn, event)
    return entry
  }
  const factEntries = facts.map(enter)
  const intents = given.map(enter)
  for (let action = nextAction(turn, fence); action.type === 'record'; action = nextAction(turn, fence))
    intents.push(...action.events.map(enter))
  return { facts: factEntries, intents, after: turn }
}
