import { z } from 'zod'

/** An operator may manage organizations other than its own. */
export const organizationQuery = z.object({
  organization_id: z.string().optional().describe('Another organization, for operators.'),
})

export const organizationIn = ({ organization_id }: { organization_id?: string | null | undefined }) =>
  organization_id ? { organizationId: organization_id } : {}
