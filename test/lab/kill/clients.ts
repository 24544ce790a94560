import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent } from '../../../src/core/agent.ts'
import { defined } from '../../../src/core/defined.ts'
import type { ConversationId, RunId } from '../../../src/core/id.ts'
import { Problem } from '../../../src/core/problem.ts'
import { StorageError } from '../../../src/ports/storage-error.ts'
import { requireAgent } from '../../../src/service/agents/agents.ts'
import { createAgent } from '../../../src/service/agents/create-agent.ts'
import { answerApproval } from '../../../src/service/approvals/answer-approval.ts'
import { listApprovals } from '../../../src/service/approvals/approvals.ts'
import { requireConversation } from '../../../src/service/conversations/conversations.ts'
import { sendMessage } from '../../../src/service/messages/send-message.ts'
import { cancelRun } from '../../../src/service/runs/runs.ts'
import { watchRun } from '../../../src/service/runs/watch-run.ts'
import type { ServiceContext } from '../../../src/service/service-context.ts'
import { seededFraction } from '../../harness/seeded.ts'

export type ClientLoad = {
  seed: number
  /** Conversations shared by all lives, and conversations of this life alone. */
  conversations: number
  ownConversations: number
  draining: AbortSignal
  report(what: string, value?: object): void
}

type ClientConversation = { agent: Agent; conversationId: ConversationId; name: string }

const SCENARIOS = ['plain', 'tools', 'parallel', 'guarded', 'fail', 'long']
/** Watchers poll the run every second: five times while it runs, and half a minute after it has ended. */
const POLL_MS = 1_000
const MAX_POLLS = 5
const MAX_POLLS_AFTER_END = 30
/** Pause before a refused client retries. */
const PAUSE_MS = 20

/** Clients send, watch, cancel and approve until the drain, and then wait until every run has ended. */
export async function runClientsUntilDrained(context: ServiceContext, load: ClientLoad): Promise<void> {
  const { seed, draining, report } = load
  const fraction = seededFraction(seed)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(fraction() * items.length)]!

  const conversations = await prepareConversations()
  report('ready')
  await Promise.all(conversations.map((conversation, index) => talk(conversation, index)))
  await waitUntilQuiet()
  report('idle')

  async function prepareConversations(): Promise<ClientConversation[]> {
    const shared = Array.from({ length: load.conversations }, (_, index) => `lab ${index}`)
    const own = Array.from({ length: load.ownConversations }, (_, index) => `life ${seed} ${index}`)
    const prepared: ClientConversation[] = []
    for (const name of [...shared, ...own]) {
      const agent = await requireAgent(name, context).catch((problem) => {
        if (!(problem instanceof Problem)) throw problem
        return createAgent({ name, model: 'lab/model', tools: ['once', 'again', 'guarded'] }, context)
      })
      prepared.push({ agent, name, conversationId: (await requireConversation(agent, undefined, context)).id })
    }
    return prepared
  }

  /** One client: sends messages one after the other, watches, and sometimes cancels or retries. */
  async function talk(conversation: ClientConversation, index: number): Promise<void> {
    for (let turn = 0; !draining.aborted; turn++) {
      const key = `${seed}-${index}-${turn}`
      await tolerate(async () => {
        const runId = await send(conversation, { key, text: `${key} ${pick(SCENARIOS)}` })
        if (fraction() < 0.2) await cancel(runId)
        else await watch(runId)
      })
    }
  }

  async function send(
    { agent, conversationId }: ClientConversation,
    { key, text }: { key: string; text: string },
  ): Promise<RunId> {
    const request = { agent, conversationId, content: [{ type: 'text' as const, text }], idempotencyKey: key }
    const { runId } = await sendMessage(request, context)
    report('accepted', { key, runId, conversationId })
    if (fraction() < 0.1) {
      const again = await sendMessage(request, context)
      report('repeated', { key, runId, next: again.runId })
    }
    return runId
  }

  async function watch(runId: RunId): Promise<void> {
    let last = 0
    let reason: string | undefined
    let isDone = false
    const over = new AbortController()
    const { signal } = over
    const patience = losePatience(runId, over)
    // A client that loses its connection resumes after the last number it saw.
    while (!isDone && !signal.aborted) if (!(await tolerate(follow))) await sleep(PAUSE_MS)
    over.abort()
    await patience
    if (isDone) report('watched', { runId, last, ...defined({ reason: reason || undefined }) })

    async function follow() {
      for await (const { number, chunk } of watchRun(runId, { after: last, signal }, context)) {
        last = number
        if (chunk.message_type === 'stop_reason') reason = chunk.stop_reason
        if (chunk.message_type === 'done') isDone = true
        report('saw', { runId, number, body: JSON.stringify(chunk) })
      }
    }
  }

  /**
   * Ends a watch that lasts too long. A watch that still waits seconds after the stored end of the run is a
   * fault; a process that was paused or disconnected may not have been notified.
   */
  async function losePatience(runId: RunId, over: AbortController): Promise<void> {
    let looksAtEnd = 0
    for (let look = 1; !over.signal.aborted; look++) {
      await sleep(POLL_MS, undefined, { signal: over.signal }).catch(() => {})
      if (over.signal.aborted) return
      const run = await context.deps.store.runs.getAnywhere(runId).catch((problem) => {
        if (!(problem instanceof StorageError)) throw problem
      })
      looksAtEnd = run?.completedAt === undefined ? 0 : looksAtEnd + 1
      if (looksAtEnd >= MAX_POLLS_AFTER_END && !over.signal.aborted) {
        report('hung', { runId })
        over.abort()
      }
      if (looksAtEnd === 0 && look >= MAX_POLLS) over.abort()
    }
  }

  async function cancel(runId: RunId): Promise<void> {
    await sleep(Math.floor(fraction() * 10))
    const run = await cancelRun(runId, context)
    if (run.stopReason !== 'end_turn') report('cancelled', { runId })
  }

  async function answerWhatWaits(): Promise<void> {
    for (const { run, calls } of await listApprovals(context)) {
      const verdicts = calls.map(({ callId }) =>
        fraction() < 0.7
          ? { callId, verdict: 'approve' as const }
          : { callId, verdict: 'deny' as const, reason: 'lab' },
      )
      try {
        report('answered', { runId: run.id, next: await answerApproval({ runId: run.id, verdicts }, context) })
      } catch (problem) {
        // Another client answered first: the harness wants this to happen.
        if (!(problem instanceof Problem)) throw problem
      }
    }
  }

  /** Refusals and an unavailable store are expected; any other error is a bug and ends the process. */
  async function tolerate(work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (problem) {
      if (problem instanceof StorageError) report('refused', { fault: problem.fault, text: problem.message })
      else if (!(problem instanceof Problem)) throw problem
    }
    if (!draining.aborted) await sleep(PAUSE_MS)
    await answerWhatWaits().catch((problem) => {
      if (!(problem instanceof StorageError)) throw problem
    })
    return false
  }

  async function waitUntilQuiet(): Promise<void> {
    const statuses = { statuses: ['created' as const, 'running' as const] }
    for (let isQuiet = false; !isQuiet; await sleep(PAUSE_MS)) {
      await tolerate(async () => {
        await answerWhatWaits()
        const open = await context.deps.store.runs.list(context.organizationId, statuses, { limit: 1 })
        isQuiet = open.length === 0 && (await listApprovals(context)).length === 0
      })
    }
  }
}
