import { DEFAULT_ORGANIZATION, type OrganizationId } from '../../core/id.ts'
import { isOperator, type Organization } from '../../core/people.ts'
import { Problem } from '../../core/problem.ts'
import type { SharedFile } from '../../ports/agent-files.ts'
import { deleteAgent } from '../agents/agents.ts'
import { finishErasures } from '../agents/erase-remains.ts'
import type { ServiceContext } from '../service-context.ts'
import { newAuditEntry } from './audit.ts'
import { organizationFor } from './organization-for.ts'

/** What was erased of an organization: rows by table, and files. */
export type ErasureReport = {
  organization: Organization
  agents: number
  workspaces: number
  /** Notes and long outputs of tools. */
  files: number
  rows: Record<string, number>
  /** Files of the home that do not say whose words they have. They are left. */
  remains: SharedFile[]
}

const PAGE = 100

/**
 * Deletes an organization with everything it has. Its keys are revoked first, so that nothing new begins. Repeating it
 * after a crash continues: the organization itself goes last.
 */
export async function deleteOrganization(
  named: string,
  context: ServiceContext,
  /** How long the end of the turns of one agent is awaited. */
  patience: () => AbortSignal,
): Promise<ErasureReport> {
  if (!isOperator(context.caller)) throw new Problem('invalid', 'Only operators can delete an organization.')
  const id = await organizationFor(named, context)
  const { store, clock, shares } = context.deps
  if (id === DEFAULT_ORGANIZATION)
    throw new Problem(
      'invalid',
      'The organization that the home began with cannot be deleted. Delete the home instead.',
    )
  const organization = await store.people.getOrganization(id)
  if (!organization) throw new Problem('not-found', `There is no organization "${named.slice(0, 80)}".`)
  for (const key of await store.keys.list(id))
    if (key.revokedAt === undefined)
      await store.keys.revoke(
        id,
        key.id,
        newAuditEntry({ verb: 'key.revoke', object: key.id, organizationId: id }, context),
      )
  const inside: ServiceContext = { ...context, organizationId: id }
  const done = await deleteAgents(id, inside, patience)
  const audit = newAuditEntry({ verb: 'organization.delete', object: id }, context)
  const rows = await store.erasure.eraseOrganization(id, { ...audit, at: clock.now() })
  shares?.forget(id)
  await finishErasures(context, new AbortController().signal)
  return { organization, ...done, rows: onlyPresent(rows), remains: await context.agentFiles.shared() }
}

async function deleteAgents(id: OrganizationId, context: ServiceContext, patience: () => AbortSignal) {
  const { store } = context.deps
  let agents = 0
  let workspaces = 0
  let files = 0
  for (;;) {
    const page = await store.erasure.agentsOf(id, PAGE)
    if (page.length === 0) return { agents, workspaces, files }
    for (const agentId of page) {
      const agent = await store.agents.get(id, agentId)
      if (!agent) continue
      const erased = await deleteAgent(agent, context, patience())
      agents += 1
      workspaces += erased.workspaces
      files += erased.files
    }
  }
}

const onlyPresent = (rows: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(rows).filter(([, count]) => count > 0))
