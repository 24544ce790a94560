import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { openApp } from '../../../src/app.ts'
import type { Agent } from '../../../src/core/agent.ts'
import type { ConversationId, RunId } from '../../../src/core/id.ts'
import { Problem } from '../../../src/core/problem.ts'
import { StorageError } from '../../../src/ports/storage-error.ts'
import { answerApproval } from '../../../src/service/answer-approval.ts'
import { cancelRun } from '../../../src/service/cancel-run.ts'
import { createAgent } from '../../../src/service/create-agent.ts'
import type { Desk } from '../../../src/service/desk.ts'
import { findAgent, findConversation } from '../../../src/service/find-agent.ts'
import { listApprovals } from '../../../src/service/list-approvals.ts'
import { sendMessage } from '../../../src/service/send-message.ts'
import { watchRun } from '../../../src/service/watch-run.ts'
import { seededFraction } from '../../harness/seeded.ts'
import { killableStore, parseKillPoint } from './kill-point.ts'
import { killScript } from './script.ts'
import { killTools } from './tools.ts'

/**
 * One life of the process that the kill harness kills: it runs agents on a real home, sends, cancels, approves and
 * watches, and writes to its parent what it was told. The parent decides when it dies.
 */
const { HOLDFAST_HOME: home, KILL_SEED = '1', KILL_AT, KILL_EFFECTS } = process.env
if (!home || !KILL_EFFECTS) throw new Error('the kill harness sets HOLDFAST_HOME and KILL_EFFECTS')

const fraction = seededFraction(Number(KILL_SEED))
const tell = (what: string, value: object = {}) => process.stdout.write(`${JSON.stringify({ what, ...value })}\n`)

const app = await openApp({
  environment: process.env,
  role: 'owner',
  tools: killTools((line) => appendFileSync(KILL_EFFECTS, `${line}\n`)),
  providers: { lab: killScript },
  ...(KILL_AT ? { wrapStore: (store) => killableStore(store, parseKillPoint(KILL_AT)) } : {}),
})
const { desk } = app
let isDraining = false
createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'drain') isDraining = true
})

const places = await preparePlaces(desk, 6)
tell('ready')
await Promise.all(places.map(async (place, index) => talk(place, index)))
await waitUntilIdle(desk)
tell('idle')
await app.close()

type Place = { agent: Agent; conversationId: ConversationId }

async function preparePlaces(at: Desk, count: number): Promise<Place[]> {
  const prepared: Place[] = []
  for (let index = 0; index < count; index++) {
    const agent = await findAgent(`lab ${index}`, at).catch((problem) => {
      if (!(problem instanceof Problem)) throw problem
      return createAgent({ name: `lab ${index}`, model: 'lab/model', tools: ['once', 'again', 'guarded'] }, at)
    })
    prepared.push({ agent, conversationId: (await findConversation(agent, undefined, at)).id })
  }
  return prepared
}

/** One client: sends one message after the other, watches, and now and then cancels or lets go. */
async function talk({ agent, conversationId }: Place, index: number): Promise<void> {
  for (let turn = 0; !isDraining; turn++) {
    const key = `${KILL_SEED}-${index}-${turn}`
    try {
      const text = `${key} ${pick(['plain', 'tools', 'parallel', 'guarded', 'fail', 'long'])}`
      const content = [{ type: 'text' as const, text }]
      const { runId } = await sendMessage({ agent, conversationId, content, idempotencyKey: key }, desk)
      tell('accepted', { key, runId, conversationId })
      if (fraction() < 0.2) await cancel(runId)
      else await watch(runId)
    } catch (problem) {
      if (!(problem instanceof Problem) && !(problem instanceof StorageError)) throw problem
      await answerWhatWaits()
    }
  }
}

async function watch(runId: RunId): Promise<void> {
  let last = 0
  const signal = AbortSignal.timeout(5_000)
  for await (const { number, chunk } of watchRun(runId, { signal }, desk)) {
    last = number
    if (chunk.message_type === 'assistant_message') tell('saw', { runId, number, id: chunk.id, text: chunk.content })
  }
  tell('watched', { runId, last })
}

async function cancel(runId: RunId): Promise<void> {
  await desk.world.clock.sleep(Math.floor(fraction() * 10))
  const run = await cancelRun(runId, desk)
  if (run.stopReason !== 'end_turn') tell('cancelled', { runId })
}

async function answerWhatWaits(): Promise<void> {
  for (const { run, calls } of await listApprovals(desk)) {
    const verdicts = calls.map(({ callId }) =>
      fraction() < 0.7 ? { callId, verdict: 'approve' as const } : { callId, verdict: 'deny' as const, reason: 'lab' },
    )
    try {
      const next = await answerApproval({ runId: run.id, verdicts }, desk)
      tell('answered', { runId: run.id, next })
    } catch (problem) {
      // Another client of this process answered first: that is what the harness wants to happen.
      if (!(problem instanceof Problem)) throw problem
    }
  }
}

async function waitUntilIdle(at: Desk): Promise<void> {
  for (;;) {
    await answerWhatWaits()
    const statuses = { statuses: ['created' as const, 'running' as const] }
    const open = await at.world.store.runs.list(at.organizationId, statuses, { limit: 1 })
    const waiting = await listApprovals(at)
    if (open.length === 0 && waiting.length === 0) return
    await at.world.clock.sleep(20)
  }
}

function pick<T>(items: T[]): T {
  return items[Math.floor(fraction() * items.length)]!
}
