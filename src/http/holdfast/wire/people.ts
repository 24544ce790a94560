import { z } from 'zod'
import type { Organization, User } from '../../../core/people.ts'
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
