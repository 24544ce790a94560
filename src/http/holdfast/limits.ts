import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { changeLimits, LIMIT_NAMES, showLimits } from '../../service/people/limits.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { operation } from '../operation.ts'
import { organizationIn, organizationQuery } from './organization.ts'

const limitSchema = z.lazy(() =>
  z
    .object({
      name: z.string().describe('The setting, in `limits` of config.yaml.'),
      of: z.enum(['organization', 'key']).describe('Whose limit it is.'),
      unit: z.string(),
      limit: z.number().nullable().describe('Null: no limit.'),
      used: z.number().nullable().describe('Null: it is not counted.'),
    })
    .meta({ id: 'Limit', description: 'A limit, and what is used of it.' }),
)

const limitsSchema = z.lazy(() =>
  z
    .object({
      organization_id: z.string(),
      key_id: z.string().nullable().describe('The key of this request; null for the key of the home.'),
      limits: z.array(limitSchema),
      models: z.array(z.string()).nullable().describe('Models that its agents may use; null: all.'),
      provider_keys: z
        .array(z.string())
        .nullable()
        .describe(
          'Providers whose keys of the server its agents may use; null: all. With a key of its own, it uses that.',
        ),
      own_keys: z.array(z.string()).describe('Providers for which it has keys of its own.'),
      unpriced: z
        .array(z.object({ model: z.string(), tokens: z.number() }))
        .describe('Models without a known price that it used today: they are counted in tokens.'),
    })
    .meta({ id: 'Limits', description: 'The limits of an organization and of a key.' }),
)

async function wireLimits(
  { organizationId, request }: { organizationId?: string; request: FastifyRequest },
  context: ServiceContext,
): Promise<z.output<typeof limitsSchema>> {
  const { trafficOf } = request.server.serverContext
  const report = await showLimits({ trafficOf, ...defined({ organizationId }) }, context)
  const { keyId = null, models = null, providerKeys = null, ownKeys, unpriced } = report
  return {
    organization_id: report.organizationId,
    key_id: keyId,
    limits: report.limits.map(({ limit = null, used = null, ...named }) => ({ ...named, limit, used })),
    models,
    provider_keys: providerKeys,
    own_keys: ownKeys,
    unpriced,
  }
}

const show = operation({
  route: 'GET /v1/limits',
  scope: 'read',
  summary: "Lists the limits of the caller's organization and key, and what is used of them",
  query: organizationQuery,
  answer: limitsSchema,
  handle: ({ query, request }, context) => wireLimits({ ...organizationIn(query), request }, context),
})

const MAX_NAMES = 1_000

const names = (what: string) => z.array(z.string().min(1).max(200)).max(MAX_NAMES).nullish().describe(what)

const change = operation({
  route: 'PATCH /v1/organizations/:organization_id/limits',
  scope: 'operator',
  summary: 'Sets limits of an organization; null returns one to the default of the server, 0 means no limit',
  audit: 'by-verb',
  params: { organization_id: z.string().describe('The id of an organization, or `default`.') },
  body: z.strictObject({
    limits: z
      .partialRecord(
        z.enum(LIMIT_NAMES as [string, ...string[]]),
        z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullable(),
      )
      .nullish()
      .describe('Limits by the name of their setting.'),
    models: names('Models that its agents may use: `provider/model`, or `provider/*`. Null: all.'),
    provider_keys: names('Providers whose keys of the server its agents may use. Null: all; an empty list: none.'),
  }),
  example: { limits: { queued_turns_per_organization: 100 }, models: ['openai/*'] },
  answer: limitsSchema,
  async handle({ params, body, request }, context) {
    const { limits, provider_keys: providerKeys, models } = body
    const organizationId = await changeLimits(
      { organizationId: params.organization_id, limits: limits ?? {}, models, providerKeys },
      context,
    )
    return wireLimits({ organizationId, request }, context)
  },
})

export const limitOperations = [show, change]
