import { setTimeout as sleep } from 'node:timers/promises'
import { APIError, Letta } from '@letta-ai/letta-client'
import { defined } from '../../../src/core/defined.ts'
import { seededFraction } from '../../harness/seeded.ts'
import { MODES, type Mode, replyOf, type WireValue } from '../../http/send-modes.ts'
import { finishedIn, isEnd, type Witness, withoutDate } from './http-witness.ts'

export type HttpLoad = {
  url: string
  key: string
  seed: number
  agents: number
  witness: Witness
  draining: AbortSignal
}

const SCENARIOS = ['plain', 'tools', 'parallel', 'guarded', 'fail', 'long']
/** Stop reasons of runs that did not fail. */
const WELL = ['end_turn', 'requires_approval', 'cancelled']
/** Pause before a client reconnects. */
const PAUSE_MS = 20
/** Longer than the slowest recovery; after it, the run counts as lost. */
const TURN_TIMEOUT_MS = 60_000

/** The end of a run, as its client knows it. */
type Ending = { runId: string; reason: string }
/** One send, with what is known about its run. */
type HttpTurn = { agentId: string; client: Letta; mode: Mode; body: Record<string, unknown>; key: string }

/**
 * Applications that use the official client while the server dies: they retry unanswered requests with the same otid,
 * resume lost streams and record every response.
 */
export async function runHttpClients(load: HttpLoad): Promise<void> {
  const { url, key, seed, witness, draining } = load
  const fraction = seededFraction(seed)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(fraction() * items.length)]!
  const report = (what: string, value: object) => witness.reports.push({ what, ...value })
  // No retries of the client: the harness decides when to reconnect.
  const client = new Letta({ baseURL: url, apiKey: key, maxRetries: 0, timeout: 30_000 })
  /** A typical application: the client retries by itself, without an otid. */
  const stubborn = new Letta({ baseURL: url, apiKey: key, maxRetries: 12, timeout: 30_000 })

  const cancels = new Map<string, Promise<void>>()

  await Promise.all(Array.from({ length: load.agents }, (_, index) => talk(index)))
  await Promise.all(cancels.values())

  async function talk(index: number): Promise<void> {
    const tools = ['once', 'again', 'guarded']
    const made = { name: `lab ${seed} ${index}`, model: 'lab/model', tools, include_base_tools: false }
    const agent = await untilAnswered(() => client.agents.create(made))
    for (let turn = 0; !draining.aborted; turn++) {
      const key = `${seed}-${index}-${turn}`
      await say({ agentId: agent.id, key, mode: pick(MODES), scenario: pick(SCENARIOS) })
    }
  }

  async function say({ agentId, key, mode, scenario }: { agentId: string; key: string; mode: Mode; scenario: string }) {
    const content = `${key} ${scenario}`
    if (mode === 'blocking' && fraction() < 0.3) return sayStubbornly(agentId, content)
    const body = { messages: [{ role: 'user', content, otid: crypto.randomUUID() }] }
    const talk: HttpTurn = { agentId, client, mode, body, key }
    let ending = await follow(talk)
    // A repeated request restarts a run that failed before its first answer; that is not a duplicate.
    if (WELL.includes(ending.reason) && fraction() < 0.15) {
      const again = await follow({ ...talk, mode: pick(MODES) })
      report('repeated', { key, runId: ending.runId, next: again.runId })
    }
    while (ending.reason === 'requires_approval') {
      const { runId } = ending
      // A concurrent cancel withdraws the approval request.
      await cancels.get(runId)
      const approvals = await wordFor(agentId)
      if (approvals.length === 0) break
      ending = await follow({ ...talk, mode: pick(MODES), body: { messages: [{ type: 'approval', approvals }] } })
      report('answered', { runId, next: ending.runId })
    }
  }

  /** A retry of the client is matched by its content alone; after its last retry the outcome is unknown. */
  async function sayStubbornly(agentId: string, input: string): Promise<void> {
    try {
      const response: WireValue = await stubborn.agents.messages.create(agentId, { input })
      const runId = response.usage.run_ids[0]
      report('accepted', { key: input, runId })
      witness.finished.push(...finishedIn(runId, response.messages))
    } catch (fault) {
      const failed = runThatFailed(fault)
      if (failed) report('accepted', { key: input, runId: failed })
      else if (!isLost(fault)) throw fault
    }
    await untilQuiet(agentId)
  }

  /** Sends until the end of the run is known. */
  async function follow(talk: HttpTurn): Promise<Ending> {
    const known: { runId?: string } = {}
    const accepted = (runId: string) => {
      if (known.runId === runId) return
      if (known.runId) report('repeated', { key: talk.key, runId: known.runId, next: runId })
      else report('accepted', { key: talk.key, runId })
      known.runId = runId
      if (fraction() < 0.15) cancels.set(runId, cancelSoon(talk.agentId, runId))
    }
    const until = Date.now() + TURN_TIMEOUT_MS
    for (let attempt = 0; Date.now() < until; attempt++) {
      try {
        return await once(talk, { attempt, accepted, known })
      } catch (fault) {
        const failed = runThatFailed(fault)
        if (failed) {
          accepted(failed)
          return { runId: failed, reason: 'error' }
        }
        if (!isLost(fault)) throw new Error(`${talk.mode} ${JSON.stringify(talk.body)}: ${fault}`, { cause: fault })
        await sleep(PAUSE_MS)
      }
    }
    throw new Error(`${talk.key} (${known.runId ?? 'never accepted'}) did not end within ${TURN_TIMEOUT_MS} ms`)
  }

  type Once = { attempt: number; accepted(runId: string): void; known: { runId?: string } }

  async function once({ agentId, mode, body }: HttpTurn, { attempt, accepted, known }: Once): Promise<Ending> {
    const options = retryOf(attempt)
    switch (mode) {
      case 'blocking': {
        const response: WireValue = await client.agents.messages.create(agentId, body as never, options)
        const [runId] = response.usage.run_ids
        accepted(runId)
        witness.finished.push(...finishedIn(runId, response.messages))
        return { runId, reason: response.stop_reason.stop_reason }
      }
      case 'async': {
        const runId = known.runId ?? (await client.agents.messages.createAsync(agentId, body as never, options)).id
        accepted(runId)
        return { runId, reason: (await ended(runId)) ?? 'error' }
      }
      case 'step stream':
      case 'token stream':
      case 'background': {
        const streaming = { streaming: true, stream_tokens: mode !== 'step stream', background: mode === 'background' }
        return read({ accepted, known }, (tries) =>
          client.agents.messages.create(agentId, { ...body, ...streaming } as never, retryOf(attempt + tries)),
        )
      }
    }
  }

  /** Reads the stream of a run to its end, over as many lives of the server as it takes. */
  async function read(
    { accepted, known }: Omit<Once, 'attempt'>,
    open: (tries: number) => Promise<unknown>,
  ): Promise<Ending> {
    const events: WireValue[] = []
    const until = Date.now() + TURN_TIMEOUT_MS
    let stops: string[] = []
    for (let tries = 0; Date.now() < until; tries++) {
      const last = events.at(-1)?.seq_id ?? 0
      try {
        const stream = known.runId
          ? await client.runs.messages.stream(known.runId, { starting_after: last })
          : await open(tries)
        stops = []
        for await (const event of stream as AsyncIterable<WireValue>) {
          if (event.run_id) accepted(event.run_id)
          if (event.message_type === 'stop_reason') stops.push(event.stop_reason)
          else if (event.seq_id !== undefined && event.message_type !== 'ping' && !isEnd(event)) {
            if (event.seq_id <= (events.at(-1)?.seq_id ?? 0))
              witness.complaints.push(`${known.runId}: ${event.seq_id} came after ${events.at(-1).seq_id}`)
            events.push(withoutDate(event))
          }
        }
      } catch (fault) {
        const failed = runThatFailed(fault)
        if (failed) stops = ['error']
        else if (!isLost(fault)) throw fault
      }
      if (stops.length > 1) witness.complaints.push(`${known.runId} had ${stops.length} ends`)
      if (stops[0] && known.runId) {
        witness.readings.push({ runId: known.runId, events })
        if (stops[0] !== 'error') report('watched', { runId: known.runId, reason: stops[0] })
        if (stops[0] === 'end_turn') witness.finished.push(...finishedIn(known.runId, lastsOf(events)))
        return { runId: known.runId, reason: stops[0] }
      }
      await sleep(PAUSE_MS)
    }
    throw new Error(`the stream of ${known.runId ?? 'an unknown run'} did not end within ${TURN_TIMEOUT_MS} ms`)
  }

  /** The last message of a finished run and every tool result: reset text comes before them. */
  function lastsOf(events: readonly WireValue[]): WireValue[] {
    const { messages } = replyOf([...events])
    return messages.filter(
      ({ message_type }, index) => message_type === 'tool_return_message' || index === messages.length - 1,
    )
  }

  async function cancelSoon(agentId: string, runId: string): Promise<void> {
    await sleep(fraction() * 30)
    try {
      const statuses = await client.agents.messages.cancel(agentId, { run_ids: [runId] })
      if (statuses[runId] === 'cancelled') report('cancelled', { runId })
    } catch (fault) {
      if (!isLost(fault) && !(fault instanceof APIError && fault.status === 409)) throw fault
    }
  }

  async function wordFor(agentId: string): Promise<object[]> {
    const asked = { include: ['agent.pending_approval' as const] }
    const { pending_approval }: WireValue = await untilAnswered(() => client.agents.retrieve(agentId, asked))
    const isYes = fraction() < 0.7
    return (pending_approval?.tool_calls ?? []).map(({ tool_call_id }: WireValue) => ({
      type: 'approval',
      tool_call_id,
      approve: isYes,
      ...defined({ reason: isYes ? undefined : 'lab' }),
    }))
  }

  async function ended(runId: string): Promise<string | undefined> {
    for (;;) {
      const run: WireValue = await untilAnswered(() => client.runs.retrieve(runId))
      if (run.status !== 'created' && run.status !== 'running') {
        const listed = await untilAnswered(() => client.runs.messages.list(runId))
        witness.finished.push(...finishedIn(runId, listed.getPaginatedItems() as WireValue[]))
        return run.stop_reason ?? undefined
      }
      await sleep(PAUSE_MS)
    }
  }

  /** Waits until no run is active or waiting in the conversation, so that the next turn is not refused. */
  async function untilQuiet(agentId: string): Promise<void> {
    for (;;) {
      const approvals = await wordFor(agentId)
      if (approvals.length > 0) {
        const body = { messages: [{ type: 'approval', approvals }] }
        await follow({ agentId, client, mode: 'blocking', body, key: `word for ${agentId}` })
        continue
      }
      const active = await untilAnswered(() => client.runs.list({ agent_id: agentId, active: true, limit: 1 }))
      if (active.getPaginatedItems().length === 0 && (await wordFor(agentId)).length === 0) return
      await sleep(PAUSE_MS)
    }
  }
}

/** The header of a client retry: a failed run is then returned and not restarted. */
const retryOf = (attempt: number) => (attempt > 0 ? { headers: { 'x-stainless-retry-count': String(attempt) } } : {})

/** Retries until the server is back. */
export async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (const until = Date.now() + TURN_TIMEOUT_MS; ; ) {
    try {
      return await ask()
    } catch (fault) {
      if (!isLost(fault) || Date.now() > until) throw fault
      await sleep(PAUSE_MS)
    }
  }
}

/** The connection was cut, or the server is shutting down: the outcome is unknown. */
function isLost(fault: unknown): boolean {
  if (fault instanceof APIError) {
    const isTold = fault.status !== undefined || (fault.error as WireValue)?.message_type === 'error_message'
    return !isTold || fault.status === 503
  }
  return fault instanceof TypeError || (fault as { name?: string }).name === 'AbortError'
}

/** The run that failed, if the error reports one. */
function runThatFailed(fault: unknown): string | undefined {
  if (!(fault instanceof APIError)) return undefined
  const body = fault.error as WireValue
  const isEnd = body?.message_type === 'error_message' || (body?.stop_reason !== undefined && body.run_id !== undefined)
  return isEnd ? body.run_id : undefined
}
