import { z } from 'zod'
import { parsed } from '../letta/parse.ts'

export const organizationQuery = z.object({ organization_id: z.string().optional() })

/** Whoever runs the server may look after other organisations, too. */
export const ofOrganization = (query: unknown): { organizationId?: string } =>
  given({ organizationId: parsed(organizationQuery, query, 'query').organization_id })

/** Without what was not said. */
export const given = <K extends string>(values: Record<K, string | null | undefined>): Partial<Record<K, string>> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value)) as Partial<Record<K, string>>
