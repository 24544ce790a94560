import type { AgentId, RunId } from '../../core/id.ts'
import type { Caller } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Desk } from '../desk.ts'
import type { Starter, TurnStarters } from './turn-starters.ts'

/** Beside the running turns: the newest may still be queued. Older ones are forgotten, half of them at a time. */
const REMEMBERED = 2_000

/** Accepts a message unless its key or its agent has as many turns running here as it may have. */
export async function withTurnAllowance<Sent extends { type: string; runId: RunId }>(
  agentId: AgentId,
  desk: Desk,
  send: () => Promise<Sent>,
): Promise<Sent> {
  const { engine, caller, starters } = desk
  if (!engine) return send()
  const starter: Starter = { agentId, actor: caller.actor }
  if (isMadeKey(caller)) refuseTooMany(starter, { running: runningOf(engine, starters), desk })
  starters.opening.add(starter)
  try {
    const sent = await send()
    if (sent.type === 'opened') starters.started.set(sent.runId, starter)
    forgetEnded(engine, starters)
    return sent
  } finally {
    starters.opening.delete(starter)
  }
}

/** The home's own key and the command line belong to the operator, who has no limits here. */
const isMadeKey = ({ actor }: Caller): boolean => actor !== 'home' && actor !== 'command-line'

const runningOf = (engine: Engine, { started, opening }: TurnStarters): Starter[] => [
  ...engine.dispatcher.running().flatMap((runId) => started.get(runId) ?? []),
  ...opening,
]

function refuseTooMany({ agentId, actor }: Starter, { running, desk }: { running: Starter[]; desk: Desk }): void {
  const { turnsPerKey, turnsPerAgent } = desk.limits
  if (turnsPerKey > 0 && running.filter((one) => one.actor === actor).length >= turnsPerKey)
    throw new Problem('queue-full', `This key has ${turnsPerKey} turns running, which is its limit. Try again later.`)
  if (turnsPerAgent > 0 && running.filter((one) => one.agentId === agentId).length >= turnsPerAgent)
    throw new Problem(
      'queue-full',
      `The agent has ${turnsPerAgent} turns running, which is its limit. Try again later.`,
    )
}

function forgetEnded({ dispatcher }: Engine, { started }: TurnStarters): void {
  if (started.size <= REMEMBERED) return
  const running = new Set(dispatcher.running())
  if (started.size <= REMEMBERED + running.size) return
  const enough = REMEMBERED / 2 + running.size
  for (const runId of started.keys()) {
    if (started.size <= enough) return
    if (!running.has(runId)) started.delete(runId)
  }
}
