import { type SqlBool, sql } from 'kysely'
import type { AgentId, OrganizationId, PassageId } from '../../core/id.ts'
import type { Passage, PassageQuery } from '../../core/passage.ts'
import type { Clock } from '../../ports/clock.ts'
import type { PassageVector, PassageVectors } from '../../ports/passage-store.ts'
import { EMBEDDED_CHARACTERS, type NewVector } from '../../ports/vector-store.ts'
import type { Database } from '../database/database.ts'
import { type Executor, statement } from '../database/statement.ts'
import { type PassageRange, type PassageScope, passageAt, passagesInRange, rangeOf } from './passages-in-range.ts'
import { decodeVector, findNearest, saveVectors, toVectorColumns, VECTOR_PAGE } from './vectors.ts'

export function passageVectors({ read, write }: Database, { soon }: Pick<Clock, 'soon'>): PassageVectors {
  const yieldToOthers = () => new Promise<void>(soon)

  return {
    waiting: (after, limit) => read((db) => db.page(waitingAfter, { after, limit })),

    keep: (vectors) => saveVectors(vectors, keepVector, write),

    models: () => read((db) => db.all(modelsOfAgents, {})),

    drop: (agentId, model) =>
      write({ key: agentId, work: async (db) => void (await db.run(dropOf, { agent: agentId, model })) }),

    nearest: (organizationId, agentId, query) => nearest({ organizationId, agentId, ...query }, read, yieldToOthers),
  }
}

export const keepVector = (db: Executor, { number, model, result }: NewVector) =>
  db.run(keep, { number, model, ...toVectorColumns(result) })

export async function vectorsOfPassages(
  db: Executor,
  ids: readonly PassageId[],
): Promise<Map<PassageId, PassageVector>> {
  const found = new Map<PassageId, PassageVector>()
  for (const id of ids) {
    const row = await db.get(vectorOf, { id })
    if (row?.vector) found.set(id, { model: row.model, values: [...decodeVector(row.vector)] })
  }
  return found
}

const vectorOf = statement<{ id: PassageId }>()((db, p) =>
  db
    .selectFrom('passage_vectors')
    .innerJoin('passages', 'passages.number', 'passage_vectors.passage_number')
    .select(['passage_vectors.model', 'passage_vectors.vector'])
    .where('passages.id', '=', p('id')),
)

type NearestPassagesQuery = PassageQuery & {
  organizationId: OrganizationId
  agentId: AgentId | undefined
  model: string
  vector: readonly number[]
}

async function nearest(
  query: NearestPassagesQuery,
  read: Database['read'],
  yieldToOthers: () => Promise<void>,
): Promise<Passage[]> {
  const { organizationId, agentId, model } = query
  const statement = VECTORS[agentId === undefined ? 'all agents' : 'one agent']
  const values = { ...rangeOf(query), organization: organizationId, agent: agentId ?? '', model, limit: VECTOR_PAGE }
  const best = await findNearest(query, (below) => read((db) => db.all(statement, { ...values, below })), yieldToOthers)
  const found = await read(async (db) => {
    const passages: (Passage | undefined)[] = []
    for (const number of best) passages.push(await passageAt(db, number))
    return passages
  })
  return found.filter((passage) => passage !== undefined)
}

const waitingAfter = statement<{ after: number; limit: number }>()((db, p) =>
  db
    .selectFrom('passages')
    .select(['number', 'organization_id as organizationId', 'agent_id as agentId'])
    .select(sql<string>`substr(content, 1, ${sql.lit(EMBEDDED_CHARACTERS)})`.as('text'))
    .where('number', '>', p('after'))
    .where(sql<SqlBool>`not exists (select 1 from passage_vectors where passage_number = passages.number)`)
    .orderBy('number')
    .limit(p('limit')),
)

/** Inserts nothing if the passage was deleted meanwhile. */
const keep = statement<{ number: number; model: string; vector: string | null; refusal: string | null }>()((db, p) =>
  db
    .insertInto('passage_vectors')
    .columns(['passage_number', 'organization_id', 'agent_id', 'model', 'vector', 'refusal'])
    .expression((from) =>
      from
        .selectFrom('passages')
        .select(['number', 'organization_id', 'agent_id'])
        .select([
          sql<string>`cast(${p('model')} as text)`.as('model'),
          sql<string | null>`cast(${p('vector')} as text)`.as('vector'),
          sql<string | null>`cast(${p('refusal')} as text)`.as('refusal'),
        ])
        .where('number', '=', p('number')),
    )
    .onConflict((conflict) =>
      conflict.column('passage_number').doUpdateSet((set) => ({
        model: set.ref('excluded.model'),
        vector: set.ref('excluded.vector'),
        refusal: set.ref('excluded.refusal'),
      })),
    ),
)

const modelsOfAgents = statement<Record<never, never>>()((db) =>
  db
    .selectFrom('passage_vectors')
    .select(['organization_id as organizationId', 'agent_id as agentId', 'model'])
    .distinct(),
)

const dropOf = statement<{ agent: AgentId; model: string }>()((db, p) =>
  db.deleteFrom('passage_vectors').where('agent_id', '=', p('agent')).where('model', '=', p('model')),
)

type Values = PassageRange & { model: string; below: number }

const vectorsIn = (scope: PassageScope) =>
  statement<Values>()((db, p, dialect) =>
    db
      .selectFrom('passage_vectors')
      .innerJoin('passages', 'passages.number', 'passage_vectors.passage_number')
      .select(['passages.number', 'passage_vectors.vector'])
      .where(passagesInRange(p, scope, dialect))
      .where('passage_vectors.model', '=', p('model'))
      .where('passage_vectors.vector', 'is not', null)
      .where('passages.number', '<', p('below'))
      .orderBy('passages.number', 'desc')
      .limit(p('limit')),
  )

const VECTORS = { 'one agent': vectorsIn('one agent'), 'all agents': vectorsIn('all agents') }
