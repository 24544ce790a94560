import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { SCOPES } from '../../core/people.ts'
import { createKey, listKeys, requireKey, revokeKey } from '../../service/people/keys.ts'
import { operation } from '../operation.ts'
import { organizationIn, organizationQuery } from './organization.ts'
import { keySchema, newKeySchema, wireKey, wireNewKey } from './wire/key.ts'

const keyPath = { key_id: z.string().describe('The id of a key.') }

const createKeyOperation = operation({
  route: 'POST /v1/keys',
  scope: 'admin',
  summary: 'Creates an API key; only this response contains its secret',
  audit: 'by-verb',
  body: z.object({
    name: z.string().min(1).max(200).describe('What the key is for.'),
    scope: z
      .enum(SCOPES)
      .describe('What it may do: read, decide waiting calls, work with agents, both, or administer.'),
    organization_id: z.string().nullish().describe('Id of another organization; for operators only.'),
    user_id: z.string().nullish().describe('Id of the user the key belongs to.'),
    expires_at: z.iso.datetime({ offset: true }).nullish().describe('When the key expires. Without it, never.'),
  }),
  example: { name: 'laptop', scope: 'agent' },
  answer: newKeySchema,
  async handle({ body: { name, scope, user_id, expires_at, ...rest }, reply }, context) {
    const { key, secret } = await createKey(
      {
        name,
        scope,
        ...organizationIn(rest),
        ...defined({ userId: user_id || undefined, expiresAt: expires_at ? Date.parse(expires_at) : undefined }),
      },
      context,
    )
    reply.header('cache-control', 'no-store')
    return wireNewKey(key, secret)
  },
})

const listKeysOperation = operation({
  route: 'GET /v1/keys',
  scope: 'admin',
  summary: 'Lists all keys, newest first, revoked ones included',
  query: organizationQuery,
  answer: z.array(keySchema),
  handle: async ({ query }, context) => (await listKeys(organizationIn(query), context)).map(wireKey),
})

const showKey = operation({
  route: 'GET /v1/keys/:key_id',
  scope: 'admin',
  summary: 'Shows a key',
  params: keyPath,
  query: organizationQuery,
  answer: keySchema,
  handle: async ({ params, query }, context) =>
    wireKey(await requireKey({ id: params.key_id, ...organizationIn(query) }, context)),
})

const revokeKeyOperation = operation({
  route: 'DELETE /v1/keys/:key_id',
  scope: 'admin',
  summary: 'Revokes a key and ends its open requests',
  audit: 'by-verb',
  params: keyPath,
  query: organizationQuery,
  answer: keySchema,
  async handle({ params, query, request }, context) {
    const key = await revokeKey({ id: params.key_id, ...organizationIn(query) }, context)
    await request.server.serverContext.recheckKeys()
    return wireKey(key)
  },
})

export const keyOperations = [createKeyOperation, listKeysOperation, showKey, revokeKeyOperation]
