import type { AgentId, RunId } from '../../core/id.ts'
import type { Caller, KeyId } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { Engine } from '../../engine/engine.ts'
import type { OpenedRun, QueueQuota } from '../../ports/store.ts'
import type { ServiceContext } from '../service-context.ts'
import type { TurnOwner, TurnOwners } from './turn-owners.ts'

/** Owners kept in addition to those of running turns: the newest may still be queued. The older half is dropped. */
const REMEMBERED_TURNS = 2_000

/** Sends a message unless its key or its agent has reached its quota of running turns in this process. */
export async function withTurnQuota<Sent extends { type: string; runId: RunId }>(
  agentId: AgentId,
  context: ServiceContext,
  send: () => Promise<Sent>,
): Promise<Sent> {
  const { engine, caller, turnOwners } = context
  if (!engine) return send()
  const owner: TurnOwner = { agentId, actor: caller.actor }
  if (keyOf(caller)) refuseOverQuota(owner, { running: runningTurns(engine, turnOwners), context })
  turnOwners.opening.add(owner)
  try {
    const sent = await send()
    if (sent.type === 'opened') turnOwners.byRun.set(sent.runId, owner)
    forgetEnded(engine, turnOwners)
    return sent
  } finally {
    turnOwners.opening.delete(owner)
  }
}

/** The key of the caller. The home's own key and the command line belong to the operator and have no quota. */
export const keyOf = ({ actor }: Caller): KeyId | undefined =>
  actor === 'home' || actor === 'command-line' || actor === 'gateway' ? undefined : actor

/** How many runs may wait for the organization and for the key of the caller; the store counts them. */
export async function queueQuotaOf({
  deps,
  caller,
  organizationId,
  limits,
}: ServiceContext): Promise<QueueQuota | undefined> {
  const own = await deps.shares?.limitsOf(organizationId)
  if (!own || !keyOf(caller)) return undefined
  return { organization: own.queuedTurnsPerOrganization, key: limits.queuedTurnsPerKey }
}

export function overQuotaProblem({ of, limit }: Extract<OpenedRun, { type: 'over-quota' }>): Problem {
  const [whose, setting] =
    of === 'key'
      ? ['This key', 'limits.queued_turns_per_key']
      : ['This organization', 'limits.queued_turns_per_organization']
  return new Problem(
    'queue-full',
    `${whose} has ${limit} queued turns, which is its limit (${setting}). Wait until some of them have run.`,
  )
}

const runningTurns = (engine: Engine, { byRun, opening }: TurnOwners): TurnOwner[] => [
  ...engine.dispatcher.running().flatMap((runId) => byRun.get(runId) ?? []),
  ...opening,
]

function refuseOverQuota(
  { agentId, actor }: TurnOwner,
  { running, context }: { running: TurnOwner[]; context: ServiceContext },
): void {
  const { turnsPerKey, turnsPerAgent } = context.limits
  if (turnsPerKey > 0 && running.filter((one) => one.actor === actor).length >= turnsPerKey)
    throw new Problem(
      'queue-full',
      `This key has reached its limit of running turns (${turnsPerKey}). Try again later, or raise limits.turns_per_key.`,
    )
  if (turnsPerAgent > 0 && running.filter((one) => one.agentId === agentId).length >= turnsPerAgent)
    throw new Problem(
      'queue-full',
      `This agent has reached its limit of running turns (${turnsPerAgent}). Try again later, or raise limits.turns_per_agent.`,
    )
}

function forgetEnded({ dispatcher }: Engine, { byRun }: TurnOwners): void {
  if (byRun.size <= REMEMBERED_TURNS) return
  const running = new Set(dispatcher.running())
  if (byRun.size <= REMEMBERED_TURNS + running.size) return
  const enough = REMEMBERED_TURNS / 2 + running.size
  for (const runId of byRun.keys()) {
    if (byRun.size <= enough) return
    if (!running.has(runId)) byRun.delete(runId)
  }
}
