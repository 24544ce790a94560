import type { AgentId, RunId } from '../../core/id.ts'
import type { Caller } from '../../core/people.ts'

export type Starter = { agentId: AgentId; actor: Caller['actor'] }

/** Who started the turns of this process: what the limits of keys and agents are counted by. */
export type TurnStarters = { started: Map<RunId, Starter>; opening: Set<Starter> }

export const newTurnStarters = (): TurnStarters => ({ started: new Map(), opening: new Set() })
