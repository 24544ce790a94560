import { defined } from '../core/defined.ts'
import { errorText } from '../core/error-text.ts'
import type { Run } from '../core/run.ts'
import { settle } from '../core/tool-call.ts'
import { STALE_WRITE_OUTPUT } from '../core/tool-write.ts'
import { type Action, foldTurn, nextAction } from '../core/turn.ts'
import { StaleWrite } from '../ports/stale-write.ts'
import { StorageError } from '../ports/storage-error.ts'
import type { Claim } from '../ports/store.ts'
import { callModel } from './call-model.ts'
import { compactContext, resetContext } from './compact-context.ts'
import type { EngineDeps } from './engine-deps.ts'
import { type CallContext, CLEANUP_REASON, type EndedCall, executeCall, verifyCall } from './execute-call.ts'
import { type Batch, decideCommit, type Journal, LeaseLost } from './journal.ts'
import { type OpenedTurn, openTurn } from './open-turn.ts'
import { retryWhileTransient } from './retry-store.ts'
import { newStop, type Stop } from './stop.ts'

/**
 * `parked`: it ended or waits for approval. `left`: this process gave it up and another worker continues. `broken`: an
 * internal fault that could not be recorded; it is logged and not retried in a loop.
 */
type TurnResult = 'parked' | 'lease-lost' | 'left' | 'broken'

/** Controls a turn that runs in this process. */
export type TurnControl = {
  /** Wake-up signal: another process may have written to this run, so read the log now. */
  notify(): void
  /** Stops without ending the run. Tools get `toolGraceMs` to finish first. */
  leave(toolGraceMs: number): void
}

type RunningTurn = { control: TurnControl; result: Promise<TurnResult> }

/** Starts the turn of a claimed run. The result never rejects: an internal fault ends the run with an error. */
export function startTurn(claim: Claim, deps: EngineDeps): RunningTurn {
  const stop = newStop(deps)
  const shared: { journal?: Journal } = {}
  const control: TurnControl = {
    notify: () => void lookForCancel(claim.run, shared.journal, { deps, stop }),
    leave: stop.leave,
  }
  const result = runTurn(claim, deps, { stop, shared }).finally(stop.dispose)
  return { control, result }
}

async function runTurn(
  claim: Claim,
  deps: EngineDeps,
  { stop, shared }: { stop: Stop; shared: { journal?: Journal } },
): Promise<TurnResult> {
  const { run } = claim
  let history: OpenedTurn['history'] | undefined
  try {
    const opened = await openTurn(claim, deps, stop)
    if (opened === 'fenced') return 'lease-lost'
    history = opened.history
    shared.journal = opened.journal
    await drive(opened, { claim, stop, deps })
    await opened.stream.settle()
    if (opened.journal.turn.phase === 'going') return 'left'
    history.save()
    return 'parked'
  } catch (fault) {
    stop.abort('leaving')
    if (fault instanceof LeaseLost) return 'lease-lost'
    deps.report(fault, `running ${run.id}`)
    return fault instanceof StorageError ? 'left' : endWithFault(run, fault, deps)
  } finally {
    history?.release()
  }
}

/** For a fault outside the loop: ends the run with `error / internal_error`, so that it is never left running. */
async function endWithFault(run: Run, fault: unknown, { store, clock, report }: EngineDeps): Promise<TurnResult> {
  try {
    for (let round = 0; ; round++) {
      const events = await store.events.read(run.id, 0)
      const turn = foldTurn(events.map(({ event }) => event))
      const facts = turn.fault === undefined ? [{ type: 'fault-met', v: 1, detail: errorText(fault) } as const] : []
      const context = { runId: run.id, at: clock.now(), holdsConversation: true }
      const { after: _, ...decided } = decideCommit(turn, { facts }, { fence: run.fence, context })
      const append = { runId: run.id, commitId: `${run.fence}.fault.${round}`, seen: events.length + 1, ...decided }
      const result = await store.events.append({ ...append, writer: { type: 'holder', fence: run.fence } })
      if (result.type === 'refused') return 'lease-lost'
      if (result.intentsKept) return 'parked'
      // Another writer appended between read and write: decide the end again with its events.
    }
  } catch (second) {
    report(second, `ending ${run.id} after an error`)
    return 'broken'
  }
}

type DriveOptions = { claim: Claim; stop: Stop; deps: EngineDeps }

/** The turn loop. Yielding is committing: nothing after a `yield` runs until its events are durable. */
async function drive(opened: OpenedTurn, { claim, stop, deps }: DriveOptions): Promise<void> {
  const { run, journal } = opened
  const turn: PerformContext = { opened, stop, deps, inFlight: new Map() }
  const timeLimit = new AbortController()
  void enforceTimeLimit(claim, journal, { deps, stop, done: timeLimit.signal })
  try {
    for (;;) {
      if (journal.turn.cancel) stop.abort(journal.turn.cancel.cause === 'time-limit' ? 'time-limit' : 'cancel')
      const action = nextAction(journal.turn, run.fence)
      if (action.type === 'park') return
      // During shutdown running tools are awaited until the grace period is over; nothing new starts.
      if (stop.cause() === 'leaving' && (action.type !== 'run-tools' || stop.left.aborted)) {
        if (!(await endIfCancelled(journal, stop))) return
        continue
      }
      deps.activity?.note(`${action.type} of ${run.id}`)
      try {
        for await (const batch of perform(action, turn)) await commit(journal, batch)
      } catch (fault) {
        if (fault instanceof LeaseLost || stop.cause() === 'leaving' || journal.turn.fault !== undefined) throw fault
        deps.report(fault, `running ${run.id}`)
        stop.abort('fault')
        await journal.commit({ facts: [{ type: 'fault-met', v: 1, detail: errorText(fault) }] })
      }
    }
  } finally {
    timeLimit.abort(CLEANUP_REASON)
  }
}

/** A tool write based on stale data becomes an error result, so that the model reads and decides again. */
async function commit(journal: Journal, batch: Batch): Promise<void> {
  try {
    await journal.commit(batch)
  } catch (fault) {
    if (!(fault instanceof StaleWrite)) throw fault
    const facts = batch.facts.map((fact) => {
      if (fact.type !== 'tool-ended' || !fact.writes) return fact
      const { callId } = fact.outcome
      return { type: 'tool-ended', v: 1, outcome: { callId, status: 'error', output: STALE_WRITE_OUTPUT } } as const
    })
    await journal.commit({ ...batch, facts })
  }
}

/** A cancel that was accepted before the shutdown began is completed by this process. */
async function endIfCancelled(journal: Journal, stop: Stop): Promise<boolean> {
  if (stop.left.aborted) return false
  await journal.commit({ facts: [] })
  if (!journal.turn.cancel) return false
  stop.stayForCancel()
  return true
}

type PerformContext = { opened: OpenedTurn; stop: Stop; deps: EngineDeps; inFlight: Map<string, Promise<EndedCall>> }

async function* perform(action: Action, { opened, stop, deps, inFlight }: PerformContext): AsyncGenerator<Batch> {
  const { run, journal } = opened
  switch (action.type) {
    case 'call-model': {
      const facts = await callModel(action.notBefore, journal, opened.caller)
      // Stopped without facts: an empty commit reads the event that stopped it.
      if (facts.length > 0 || stop.cause() !== 'leaving') yield { facts }
      return
    }
    case 'compact':
      yield await compactContext(action.notBefore, {
        run,
        journal,
        caller: opened.caller,
        messages: opened.messages,
      })
      await opened.caller.prompt.refresh()
      return
    case 'reset':
      // Before the commit: if this process dies in between, the next worker does it again.
      await deps.endProcesses(run.conversationId)
      yield resetContext(
        await opened.messages.context(run.conversationId),
        await opened.messages.newest(run.conversationId),
        opened.caller,
        journal.turn.settings,
      )
      return
    case 'close':
      await deps.endProcesses(run.conversationId)
      yield { facts: [], intents: [{ type: 'turn-ended', v: 1, stopReason: 'end_turn' }] }
      return
    case 'run-tools': {
      for (const call of action.calls)
        if (!inFlight.has(call.callId)) inFlight.set(call.callId, executeCall(call, callContextOf(opened)))
      const ended = await Promise.race([...inFlight.values(), stop.whenLeft])
      // Shutdown: the next worker decides by the tool's declared effects.
      if (ended === 'left') return
      inFlight.delete(ended.outcome.callId)
      yield { facts: [{ type: 'tool-ended', v: 1, ...ended }] }
      return
    }
    case 'verify-call': {
      const verified = await Promise.race([verifyCall(action.call, callContextOf(opened)), stop.whenLeft])
      // Shutdown before the verification finished: the next worker verifies again.
      if (verified === 'left') return
      const { callId } = action.call
      switch (verified.type) {
        case 'done': {
          const { writes, ...answer } = verified.answer
          const outcome = { callId, ...answer }
          yield { facts: [{ type: 'tool-ended', v: 1, outcome, ...defined({ writes }) }] }
          return
        }
        case 'unknown':
          yield { facts: [{ type: 'tool-ended', v: 1, outcome: settle(callId, 'lost') }] }
          return
        case 'not-done':
          // An intent: a cancel during the verification must not be followed by a start.
          yield { facts: [], intents: [{ type: 'tool-started', v: 1, callId, fence: run.fence }] }
          return
      }
      return
    }
    case 'record':
      // The journal adds these events to the commit.
      yield { facts: [] }
      return
    case 'park':
      return
  }
}

const callContextOf = ({ callContext, journal }: OpenedTurn): CallContext => ({
  ...callContext,
  answerId: journal.turn.step!.answerId,
})

/** Stops the turn early if the log has a cancel. The event decides; the abort only makes it faster. */
async function lookForCancel(
  run: Run,
  journal: Journal | undefined,
  { deps, stop }: { deps: EngineDeps; stop: Stop },
): Promise<void> {
  try {
    const news = await deps.store.events.read(run.id, (journal?.nextSeq ?? run.nextSeq) - 1)
    const cancel = news.find(({ event }) => event.type === 'cancel-requested')?.event
    if (cancel?.type === 'cancel-requested') stop.abort(cancel.cause === 'time-limit' ? 'time-limit' : 'cancel')
  } catch (fault) {
    // The next commit reads the same event; the cancel is only slower.
    deps.report(fault, `checking ${run.id} for a cancel`)
  }
}

async function enforceTimeLimit(
  { run, events }: Claim,
  journal: Journal,
  { deps, stop, done }: { deps: EngineDeps; stop: Stop; done: AbortSignal },
): Promise<void> {
  const { clock, store, randomness } = deps
  await clock.sleep(Math.max(0, journal.turn.settings.maxDurationMs - timeSpent(events)), done)
  if (done.aborted) return
  const event = { type: 'cancel-requested', v: 1, cause: 'time-limit' } as const
  const append = {
    runId: run.id,
    commitId: randomness.uuid(),
    seen: journal.nextSeq,
    intents: [],
    writer: { type: 'guest', phases: ['running'] } as const,
    facts: [{ event, at: clock.now(), changes: [] }],
  } satisfies Parameters<typeof store.events.append>[0]
  try {
    await retryWhileTransient((isRetry) => store.events.append({ ...append, isRetry }), { clock, signal: done })
  } catch (fault) {
    deps.report(fault, `enforcing the time limit of ${run.id}`)
    return
  }
  stop.abort('time-limit')
}

/** Working time of the run before this claim. The time between a worker's death and the takeover does not count. */
function timeSpent(events: Claim['events']): number {
  let spent = 0
  for (const [index, { at, event }] of events.entries())
    if (index > 0 && event.type !== 'worker-lost') spent += Math.max(0, at - events[index - 1]!.at)
  return spent
}
