import type { AgentId, RunId } from '../../core/id.ts'
import type { Caller } from '../../core/people.ts'

export type TurnOwner = { agentId: AgentId; actor: Caller['actor'] }

/** Who started the turns of this process: what the limits of keys and agents are counted by. */
export type TurnOwners = { byRun: Map<RunId, TurnOwner>; opening: Set<TurnOwner> }

export const newTurnOwners = (): TurnOwners => ({ byRun: new Map(), opening: new Set() })
