import { z } from 'zod'
import type { Organization, User } from '../../../core/people.ts'
import type { ErasureReport } from '../../../service/people/delete-organization.ts'
import { dateSchema, wireDate } from '../../wire-date.ts'

export const organizationSchema = z.lazy(() =>
  z
    .object({ id: z.string(), name: z.string(), created_at: dateSchema })
    .meta({ id: 'Organization', description: 'A tenant that owns agents; other organizations cannot see its data.' }),
)

export const wireOrganization = ({ id, name, createdAt }: Organization): z.output<typeof organizationSchema> => ({
  id,
  name,
  created_at: wireDate(createdAt),
})

export const userSchema = z.lazy(() =>
  z
    .object({ id: z.string(), name: z.string(), organization_id: z.string(), created_at: dateSchema })
    .meta({ id: 'User', description: 'A person in an organization, who can own API keys.' }),
)

export const wireUser = ({ id, organizationId, name, createdAt }: User): z.output<typeof userSchema> => ({
  id,
  name,
  organization_id: organizationId,
  created_at: wireDate(createdAt),
})

export const erasureReportSchema = z.lazy(() =>
  z
    .object({
      organization: organizationSchema,
      agents: z.number(),
      workspaces: z.number(),
      files: z.number().describe('Notes and long outputs of tools.'),
      rows: z.record(z.string(), z.number()).describe('Rows that were left besides those of its agents, by table.'),
      remains: z
        .array(z.object({ file: z.string(), why: z.string() }))
        .describe('Files of the home that may have words of it and do not say whose they are: they were left.'),
    })
    .meta({ id: 'ErasureReport', description: 'What was erased of an organization.' }),
)

export const wireErasureReport = ({
  organization,
  ...erased
}: ErasureReport): z.output<typeof erasureReportSchema> => ({ organization: wireOrganization(organization), ...erased })
