import type { OrganizationId, RunId, StepId } from '../../core/id.ts'
import type { NewStep } from '../../core/projection.ts'
import type { StepRating, StoredStep } from '../../ports/store.ts'
import { insertInto } from '../database/row-statements.ts'
import { type Executor, statement } from '../database/statement.ts'
import { listText } from '../rows/row-mapping.ts'
import { type ChangedRun, numberOfRun } from '../rows/run-row.ts'
import { STEP_COLUMNS, type StepRow, stepOf, stepRowOf } from '../rows/step-row.ts'

export async function insertStep(db: Executor, run: ChangedRun, step: NewStep): Promise<void> {
  await db.run(insert, {
    ...stepRowOf(step, run.agent_id),
    organization_id: run.organization_id,
    run_number: run.number,
  })
}

export async function readSteps(db: Executor, runId: RunId): Promise<NewStep[]> {
  const rows = await db.all(ofRun, { run: runId })
  return rows.map((row) => {
    const { agentId: _, feedback: __, tags: ___, ...step } = stepOf(row)
    return step
  })
}

export async function readStep(
  db: Executor,
  organizationId: OrganizationId,
  id: StepId,
): Promise<StoredStep | undefined> {
  const row = await db.get(byId, { organization: organizationId, id })
  return row && stepOf(row)
}

export async function rateStep(
  db: Executor,
  { organizationId, id }: { organizationId: OrganizationId; id: StepId },
  { feedback, tags }: StepRating,
): Promise<StoredStep | undefined> {
  const row = await db.get(rate, {
    organization: organizationId,
    id,
    feedback: feedback ?? null,
    tags: tags ? listText(tags) : null,
  })
  return row && stepOf(row)
}

const insert = insertInto('steps', [...STEP_COLUMNS, 'organization_id', 'run_number'])

const ofRun = statement<{ run: RunId }>()((db, p) =>
  db
    .selectFrom('steps')
    .select(STEP_COLUMNS)
    .where('run_number', '=', numberOfRun(p('run')))
    .orderBy('number'),
)

const byId = statement<{ organization: OrganizationId; id: StepId }>()((db, p) =>
  db
    .selectFrom('steps')
    .select(STEP_COLUMNS)
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization')),
)

const rate = statement<{
  organization: OrganizationId
  id: StepId
  feedback: StepRow['feedback']
  tags: string | null
}>()((db, p) =>
  db
    .updateTable('steps')
    .set({ feedback: p('feedback'), tags: p('tags') })
    .where('id', '=', p('id'))
    .where('organization_id', '=', p('organization'))
    .returning(STEP_COLUMNS),
)
