import type { NumberedChunk } from '../../core/chunk.ts'
import type { Continuation } from '../../core/event.ts'
import { parseId, type RunId } from '../../core/id.ts'
import { Problem } from '../../core/problem.ts'
import { isOver, type Run } from '../../core/run.ts'
import { finishStream } from '../../engine/finish-stream.ts'
import type { WatchEnd } from '../../ports/streams.ts'
import type { ServiceContext } from '../service-context.ts'

type WatchOptions = { after?: number; signal: AbortSignal }

/** The run's stream after chunk `after`: stored chunks, then live ones, up to the terminal chunk. */
export async function* watchRun(
  id: string,
  options: WatchOptions,
  context: ServiceContext,
): AsyncGenerator<NumberedChunk, WatchEnd> {
  const run = await requireStream(id, context)
  return yield* await watchOpened({ runId: run.id, hasEnded: isOver(run) }, options, context)
}

/** The same for a run that was read already. Hot path with thousands of readers: no extra generator layer. */
export async function watchOpened(
  { runId, hasEnded }: { runId: RunId; hasEnded: boolean },
  { after = 0, signal }: WatchOptions,
  { deps }: Pick<ServiceContext, 'deps'>,
): Promise<AsyncGenerator<NumberedChunk, WatchEnd>> {
  // The writer may have died between the last commit and the last chunk, or a crash of PostgreSQL lost the stream.
  if (hasEnded) await finishStream(runId, deps)
  const whenMissing = async () => {
    if (await hasRunEnded(runId, deps)) await finishStream(runId, deps)
  }
  return deps.streams.watch(runId, { after, signal, whenMissing })
}

async function hasRunEnded(runId: RunId, { store }: ServiceContext['deps']): Promise<boolean> {
  const run = await store.runs.getAnywhere(runId)
  return run !== undefined && isOver(run)
}

/** Resolves with the run once it is settled or waits for approval; with its current state if the signal aborts. */
export async function waitForRun(runId: RunId, context: ServiceContext, signal?: AbortSignal): Promise<Run> {
  const { engine, deps, organizationId } = context
  for (;;) {
    const over = new AbortController()
    // Subscribe before reading, so that an end in between is not missed.
    const either = signal ? AbortSignal.any([signal, over.signal]) : over.signal
    const next = engine ? engine.completions.next(runId, either) : deps.clock.sleep(100, either)
    if (engine?.dispatcher.isRunning(runId) && !signal?.aborted) {
      // This process runs the turn, so its end notifies this listener and no read is needed before.
      await next
      continue
    }
    const run = await deps.store.runs.get(organizationId, runId)
    if (!run) throw new Problem('not-found', `There is no run "${runId}".`)
    if (isOver(run) || signal?.aborted) {
      over.abort('over')
      return run
    }
    await next
  }
}

/** Only what a stream view needs: a watcher may hold it for days. */
export type OpenedStream = {
  runId: RunId
  hasEnded: boolean
  createdAt: number
  streamTokens: boolean
  continues?: Continuation
}

/** The run whose stream can be read. Throws before the first chunk rather than in the middle. */
async function requireStream(id: string, context: ServiceContext): Promise<Run> {
  const { store, streams } = context.deps
  const runId = parseId('run', id)
  const run = runId && (await store.runs.get(context.organizationId, runId))
  if (!run) throw new Problem('not-found', `There is no run "${id}".`)
  if (await streams.isGone(run))
    throw new Problem(
      'gone',
      `The stream of ${id} was removed after its retention time. Its messages are still available.`,
    )
  return run
}

/** What a stream view needs to know of a run before the first chunk. */
export async function openStream(id: string, context: ServiceContext): Promise<OpenedStream> {
  const run = await requireStream(id, context)
  const accepted = await context.deps.store.events.first(run.id)
  if (accepted?.type !== 'input-accepted') throw new Error(`the log of ${id} does not begin with its input`)
  const { settings, continues } = accepted
  const { id: runId, createdAt } = run
  const opened = { runId, hasEnded: isOver(run), createdAt, streamTokens: settings.streamTokens }
  return continues ? { ...opened, continues } : opened
}
