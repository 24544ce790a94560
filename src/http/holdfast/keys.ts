import { z } from 'zod'
import { type ApiKey, SCOPES } from '../../core/people.ts'
import { createKey, listKeys, requireKey, revokeKey } from '../../service/people/keys.ts'
import { parsed } from '../letta/parse.ts'
import { wireDate } from '../letta/wire/message.ts'
import type { Routes } from '../routes.ts'
import { given, ofOrganization, organizationQuery } from './of-organization.ts'

/** Who may come in. For administrators. */
export function registerKeyRoutes(routes: Routes): void {
  routes.post(
    '/v1/keys',
    async ({ body }, desk, reply) => {
      const { name, scope, organization_id, user_id, expires_at } = parsed(newKeyBody, body, 'body')
      const { key, secret } = await createKey(
        {
          ...{ name, scope, ...given({ organizationId: organization_id, userId: user_id }) },
          ...(expires_at ? { expiresAt: Date.parse(expires_at) } : {}),
        },
        desk,
      )
      reply.header('cache-control', 'no-store')
      return { ...wireKey(key), key: secret }
    },
    { summary: 'Makes a key, which is told here and never again', body: newKeyBody },
  )

  routes.get('/v1/keys', async ({ query }, desk) => (await listKeys(ofOrganization(query), desk)).map(wireKey), {
    summary: 'All keys, newest first, revoked ones included',
    query: organizationQuery,
  })

  routes.get(
    '/v1/keys/:key_id',
    async ({ params, query }, desk) => wireKey(await requireKey({ id: idOf(params), ...ofOrganization(query) }, desk)),
    { summary: 'One key', query: organizationQuery },
  )

  routes.delete(
    '/v1/keys/:key_id',
    async ({ params, query, server }, desk) => {
      const key = await revokeKey({ id: idOf(params), ...ofOrganization(query) }, desk)
      await server.serving.recheckKeys()
      return wireKey(key)
    },
    { summary: 'Revokes a key; what it holds open ends', query: organizationQuery },
  )
}

const newKeyBody = z.object({
  name: z.string().min(1).max(200),
  scope: z.enum(SCOPES),
  organization_id: z.string().nullish(),
  user_id: z.string().nullish(),
  expires_at: z.iso.datetime({ offset: true }).nullish(),
})

const idOf = (params: unknown): string => (params as { key_id: string }).key_id

const wireKey = (key: ApiKey) => ({
  ...{ id: key.id, name: key.name, scope: key.scope, prefix: key.prefix },
  ...{ organization_id: key.organizationId, user_id: key.userId ?? null },
  created_at: wireDate(key.createdAt),
  expires_at: key.expiresAt === undefined ? null : wireDate(key.expiresAt),
  revoked_at: key.revokedAt === undefined ? null : wireDate(key.revokedAt),
})
