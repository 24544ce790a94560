import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent } from '../../../src/core/agent.ts'
import type { ConversationId, RunId } from '../../../src/core/id.ts'
import { Problem } from '../../../src/core/problem.ts'
import type { Run } from '../../../src/core/run.ts'
import { answerApproval } from '../../../src/service/approvals/answer-approval.ts'
import { listApprovals } from '../../../src/service/approvals/approvals.ts'
import { createConversation } from '../../../src/service/conversations/conversations.ts'
import { sendMessage } from '../../../src/service/messages/send-message.ts'
import { cancelRun } from '../../../src/service/runs/runs.ts'
import { waitForRun, watchRun } from '../../../src/service/runs/watch-run.ts'
import type { ServiceContext } from '../../../src/service/service-context.ts'
import { seededFraction } from '../../harness/seeded.ts'
import { SCENARIOS, type SoakScenario } from './model.ts'
import type { Totals } from './sample.ts'

export type Traffic = {
  totals: Totals
  /** Milliseconds since the last time they were taken. */
  takeTimes(): { sends: number[]; turns: number[]; ended: number }
  /** Resolves when every client has stopped and no run is left; after a timeout with the stuck runs. */
  drain(): Promise<string[]>
}

const CLIENTS = 24
/** Conversations a client may return to; each stays short, as in a store of many users. */
const REMEMBERED = 4_000
const LONGEST_PAUSE_MS = 300
/** Longer than a run may wait for a credential or an approval on a busy machine; only a stuck one takes all of it. */
const DRAIN_MS = 120_000

export function startTraffic(agent: Agent, context: ServiceContext, seed: number): Traffic {
  const fraction = seededFraction(seed)
  const chance = (share: number) => fraction() < share
  const weighted = (Object.keys(SCENARIOS) as SoakScenario[]).flatMap((scenario) =>
    Array.from({ length: SCENARIOS[scenario] }, () => scenario),
  )
  const pick = <T>(items: readonly T[]): T => items[Math.floor(fraction() * items.length)]!
  const draining = new AbortController()
  const known: ConversationId[] = []
  let times = { sends: [] as number[], turns: [] as number[], ended: 0 }
  const totals: Totals = {
    conversations: 0,
    sent: 0,
    steered: 0,
    refused: 0,
    cancelled: 0,
    answered: 0,
    watched: 0,
    returned: 0,
    endings: {},
  }
  const clients = Array.from({ length: CLIENTS }, talk)

  return {
    totals,
    takeTimes() {
      const taken = times
      times = { sends: [], turns: [], ended: 0 }
      return taken
    },
    async drain() {
      draining.abort()
      let areGone = false
      const leaving = Promise.all(clients).then(() => {
        areGone = true
      })
      // A client may wait in a queue behind an approval: pending approvals are answered during the drain.
      const stuck = await settleEverything(() => areGone)
      if (stuck.length === 0) await leaving
      return stuck
    },
  }

  async function talk(): Promise<void> {
    while (!draining.signal.aborted) {
      await tolerate(oneTurn)
      await sleep(fraction() * LONGEST_PAUSE_MS)
    }
  }

  async function oneTurn(): Promise<void> {
    const conversationId = await somewhere()
    const scenario = pick(weighted)
    const began = performance.now()
    const runId = await send(conversationId, scenario, 'queue')
    times.sends.push(performance.now() - began)
    if (chance(0.08)) totals.steered += (await send(conversationId, pick(weighted), 'steer')) === runId ? 1 : 0
    if (chance(0.1)) await cancelSoon(runId)
    const isSteady = await follow(runId)
    const run = await waitForRun(runId, context)
    // Only one kind of turn is measured, so that the curve shows the server and not the mix of turns.
    if (scenario === 'plain' && isSteady && run.stopReason === 'end_turn') times.turns.push(performance.now() - began)
    count(run)
    // An approval without an answer expires, or the next sender in this conversation answers it.
    if (run.waiting && chance(0.8)) await answer(run)
  }

  async function somewhere(): Promise<ConversationId> {
    if (known.length > 0 && chance(0.6)) return pick(known)
    const { id } = await createConversation(agent, context)
    totals.conversations++
    if (known.length < REMEMBERED) known.push(id)
    else known[Math.floor(fraction() * known.length)] = id
    return id
  }

  async function send(conversationId: ConversationId, text: SoakScenario, policy: 'queue' | 'steer'): Promise<RunId> {
    const content = [{ type: 'text' as const, text }]
    const { runId } = await sendMessage({ agent, conversationId, content, policy, streamTokens: chance(0.8) }, context)
    totals.sent++
    return runId
  }

  async function cancelSoon(runId: RunId): Promise<void> {
    await sleep(fraction() * 60)
    await cancelRun(runId, context)
    totals.cancelled++
  }

  /** True for a watcher that read the whole stream without a pause. */
  async function follow(runId: RunId): Promise<boolean> {
    const kind = fraction()
    if (kind < 0.25) return true
    totals.watched++
    if (kind < 0.75) await read(runId, { after: 0, pauseMs: 0, upTo: Infinity })
    else if (kind < 0.9) {
      const last = await read(runId, { after: 0, pauseMs: 0, upTo: 3 })
      await sleep(fraction() * 50)
      totals.returned++
      await read(runId, { after: last, pauseMs: 0, upTo: Infinity })
    } else await read(runId, { after: 0, pauseMs: 15, upTo: 60 })
    return kind < 0.75
  }

  /** Reads until the end, or until `upTo` chunks were seen. */
  async function read(runId: RunId, options: { after: number; pauseMs: number; upTo: number }): Promise<number> {
    let last = options.after
    let seen = 0
    const signal = new AbortController().signal
    const chunks = watchRun(runId, { after: last, signal }, context)
    for (;;) {
      const next = await chunks.next()
      if (next.done) return last
      last = next.value.number
      if (options.pauseMs > 0) await sleep(options.pauseMs)
      if (++seen < options.upTo) continue
      await chunks.return('stopped')
      return last
    }
  }

  async function answer({ id: runId }: Pick<Run, 'id'>): Promise<void> {
    const waiting = await listCalls(runId)
    const verdicts = waiting.map((callId) =>
      chance(0.7) ? { callId, verdict: 'approve' as const } : { callId, verdict: 'deny' as const, reason: 'soak' },
    )
    if (verdicts.length === 0) return
    count(await waitForRun(await answerApproval({ runId, verdicts }, context), context))
    totals.answered++
  }

  async function listCalls(runId: RunId): Promise<string[]> {
    const pending = (await listApprovals(context)).find(({ run }) => run.id === runId)
    return pending?.calls.map((call) => call.callId) ?? []
  }

  function count(run: Run): void {
    const stopReason = run.stopReason ?? 'none'
    times.ended++
    totals.endings[stopReason] = (totals.endings[stopReason] ?? 0) + 1
  }

  /** Refusals are expected: the client answers a pending approval and ignores other refusals. */
  async function tolerate(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem
      totals.refused++
      const { runId } = problem.details as { runId?: RunId }
      if (problem.kind === 'pending-approval' && runId && chance(0.7)) await tolerate(() => answer({ id: runId }))
    }
  }

  async function settleEverything(areGone: () => boolean): Promise<string[]> {
    const statuses = { statuses: ['created' as const, 'running' as const] }
    const end = performance.now() + DRAIN_MS
    for (;;) {
      for (const { run } of await listApprovals(context)) await tolerate(() => answer(run))
      const open = await context.deps.store.runs.list(context.organizationId, statuses, { limit: 100 })
      const waiting = await listApprovals(context)
      if (areGone() && open.length + waiting.length === 0) return []
      if (performance.now() > end)
        return ['a client', ...[...open, ...waiting.map(({ run }) => run)].map(({ id }) => id)]
      await sleep(50)
    }
  }
}
