import type { AgentId, RunId } from '../../core/id.ts'
import type { Caller } from '../../core/people.ts'

export type TurnOwner = { agentId: AgentId; actor: Caller['actor'] }

/** The key and agent of each turn of this process: the turn quotas count them. */
export type TurnOwners = { byRun: Map<RunId, TurnOwner>; opening: Set<TurnOwner> }

export const newTurnOwners = (): TurnOwners => ({ byRun: new Map(), opening: new Set() })
