import type { RunId } from '../../core/id.ts'
import { isOver, type Run } from '../../core/run.ts'
import { findJoin, type JoinedTurn } from '../../core/steer.ts'
import { findRun } from '../runs/runs.ts'
import { waitForRun } from '../runs/watch-run.ts'
import type { ServiceContext } from '../service-context.ts'
import type { SendResult } from './send-message.ts'

/** Where a steered message joined the run that carries it; undefined for a message with a run of its own. */
export async function findJoinedTurn(
  { runId, request }: Pick<SendResult, 'runId' | 'request'>,
  { deps }: ServiceContext,
): Promise<JoinedTurn | undefined> {
  if (request === runId) return undefined
  return findJoin(await deps.store.events.read(runId, 0), request)
}

/** The run that a steered message got because the one it joined ended without reading it. */
export const findMovedRun = async (
  { runId, request }: Pick<SendResult, 'runId' | 'request'>,
  context: ServiceContext,
): Promise<RunId | undefined> => (request === runId ? undefined : (await findRun(request, context))?.id)

/** Waits for the end of the run that carries the message, and of its own run if that one ended without reading it. */
export async function waitForAnswer(
  sent: Pick<SendResult, 'runId' | 'request'>,
  context: ServiceContext,
  signal?: AbortSignal,
): Promise<Run> {
  const carrier = await waitForRun(sent.runId, context, signal)
  const moved = isOver(carrier) ? await findMovedRun(sent, context) : undefined
  return moved ? waitForRun(moved, context, signal) : carrier
}
