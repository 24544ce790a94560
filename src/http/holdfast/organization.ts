import { z } from 'zod'

/** An operator may manage organizations other than its own. */
export const organizationQuery = z.object({
  organization_id: z.string().optional().describe('Id of another organization; for operators only.'),
})

export const organizationIn = ({ organization_id }: { organization_id?: string | null | undefined }) =>
  organization_id ? { organizationId: organization_id } : {}
