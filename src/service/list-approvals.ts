import { undecidedCalls } from '../core/approval.ts'
import type { Run } from '../core/run.ts'
import type { ToolCall } from '../core/tool-call.ts'
import { foldTurn } from '../core/turn.ts'
import type { Desk } from './desk.ts'

export type PendingApproval = { run: Run; calls: ToolCall[] }

/** What waits for a person, oldest first. */
export async function listApprovals(desk: Desk): Promise<PendingApproval[]> {
  const { store } = desk.world
  const waiting = await store.runs.list(desk.organizationId, { waiting: true }, { limit: 1000 })
  const pending = waiting.reverse().map(async (run) => {
    const events = await store.events.read(run.id, 0)
    return { run, calls: undecidedCalls(foldTurn(events.map(({ event }) => event))) }
  })
  return Promise.all(pending)
}
