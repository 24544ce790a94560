import { z } from 'zod'
import type { Organization, User } from '../../core/people.ts'
import {
  createOrganization,
  createUser,
  deleteUser,
  listOrganizations,
  listUsers,
} from '../../service/people/people.ts'
import { parsed } from '../letta/parse.ts'
import { wireDate } from '../letta/wire/message.ts'
import type { Routes } from '../routes.ts'
import { given, ofOrganization, organizationQuery } from './of-organization.ts'

/** Organisations and users. For administrators. */
export function registerPeopleRoutes(routes: Routes): void {
  routes.post(
    '/v1/organizations',
    async ({ body }, desk) => wireOrganization(await createOrganization(parsed(nameBody, body, 'body'), desk)),
    { summary: 'Makes an organization: nothing in it is seen from another', body: nameBody },
  )

  routes.get('/v1/organizations', async (_, desk) => (await listOrganizations(desk)).map(wireOrganization), {
    summary: 'The organizations one may look after',
  })

  routes.post(
    '/v1/users',
    async ({ body }, desk) => {
      const { name, organization_id } = parsed(userBody, body, 'body')
      return wireUser(await createUser({ name, ...given({ organizationId: organization_id }) }, desk))
    },
    { summary: 'Makes a user, whom keys can belong to', body: userBody },
  )

  routes.get('/v1/users', async ({ query }, desk) => (await listUsers(ofOrganization(query), desk)).map(wireUser), {
    summary: 'The users of an organization',
    query: organizationQuery,
  })

  routes.delete(
    '/v1/users/:user_id',
    async ({ params, query, server }, desk, reply) => {
      await deleteUser({ id: (params as { user_id: string }).user_id, ...ofOrganization(query) }, desk)
      await server.serving.recheckKeys()
      return reply.type('application/json').send('null')
    },
    { summary: 'Removes a user and revokes all of its keys', query: organizationQuery },
  )
}

const nameBody = z.object({ name: z.string().min(1).max(200) })
const userBody = nameBody.extend({ organization_id: z.string().nullish() })

const wireOrganization = ({ id, name, createdAt }: Organization) => ({ id, name, created_at: wireDate(createdAt) })

const wireUser = ({ id, organizationId, name, createdAt }: User) => ({
  ...{ id, name, organization_id: organizationId },
  created_at: wireDate(createdAt),
})
