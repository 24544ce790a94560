import type { AgentId } from '../../core/id.ts'
import type { Passage } from '../../core/passage.ts'
import { insertMany } from '../database/insert-many.ts'
import { type Executor, statement } from '../database/statement.ts'
import { PASSAGE } from '../rows/passage-row.ts'
import { keepVector } from './passage-vectors.ts'
import { invalidatePrompts } from './stale-prompts.ts'

type ImportedPassage = Passage & { vector?: { model: string; values: number[] } }

/** Inserts passages of one agent, with the vectors that came with them. */
export async function insertPassages(db: Executor, passages: readonly ImportedPassage[]): Promise<void> {
  await insertRows(db, passages.map(PASSAGE.rowOf))
  for (const { id, agentId, vector } of passages) {
    const row = vector && (await db.get(numberOf, { id, agent: agentId }))
    if (row) {
      const result = { type: 'vector' as const, vector: vector.values }
      await keepVector(db, { number: row.number, agentId, model: vector.model, result })
    }
  }
  const [first] = passages
  if (first) await invalidatePrompts(db, first.agentId)
}

const insertRows = insertMany('passages', PASSAGE.columns)

const numberOf = statement<{ id: Passage['id']; agent: AgentId }>()((db, p) =>
  db.selectFrom('passages').select('number').where('id', '=', p('id')).where('agent_id', '=', p('agent')),
)
