import { z } from 'zod'
import { deleteOrganization } from '../../service/people/delete-organization.ts'
import {
  createOrganization,
  createUser,
  deleteUser,
  listOrganizations,
  listUsers,
} from '../../service/people/people.ts'
import { operation } from '../operation.ts'
import { organizationIn, organizationQuery } from './organization.ts'
import {
  erasureReportSchema,
  organizationSchema,
  userSchema,
  wireErasureReport,
  wireOrganization,
  wireUser,
} from './wire/people.ts'

const nameBody = z.object({ name: z.string().min(1).max(200) })

const createOrganizationOperation = operation({
  route: 'POST /v1/organizations',
  scope: 'operator',
  summary: 'Creates an organization: a tenant whose data other organizations cannot see',
  audit: 'by-verb',
  body: nameBody,
  example: { name: 'acme' },
  answer: organizationSchema,
  handle: async ({ body }, context) => wireOrganization(await createOrganization(body, context)),
})

const listOrganizationsOperation = operation({
  route: 'GET /v1/organizations',
  scope: 'admin',
  summary: 'Lists the organizations the caller may manage',
  answer: z.array(organizationSchema),
  handle: async (_, context) => (await listOrganizations(context)).map(wireOrganization),
})

const createUserOperation = operation({
  route: 'POST /v1/users',
  scope: 'admin',
  summary: 'Creates a user, who can own API keys',
  audit: 'by-verb',
  body: nameBody.extend({
    organization_id: z.string().nullish().describe('Id of another organization; for operators only.'),
  }),
  example: { name: 'Ada' },
  answer: userSchema,
  handle: async ({ body }, context) =>
    wireUser(await createUser({ name: body.name, ...organizationIn(body) }, context)),
})

const listUsersOperation = operation({
  route: 'GET /v1/users',
  scope: 'admin',
  summary: 'Lists the users of an organization',
  query: organizationQuery,
  answer: z.array(userSchema),
  handle: async ({ query }, context) => (await listUsers(organizationIn(query), context)).map(wireUser),
})

const removeUser = operation({
  route: 'DELETE /v1/users/:user_id',
  scope: 'admin',
  summary: 'Deletes a user and revokes all of its keys',
  audit: 'by-verb',
  params: { user_id: z.string().describe('The id of a user.') },
  query: organizationQuery,
  answer: z.null(),
  async handle({ params, query, request }, context) {
    await deleteUser({ id: params.user_id, ...organizationIn(query) }, context)
    await request.server.serverContext.recheckKeys()
    return null
  },
})

/** How long the end of the turns of one agent is awaited. */
const TURN_WAIT_MS = 10_000

const removeOrganization = operation({
  route: 'DELETE /v1/organizations/:organization_id',
  scope: 'operator',
  summary: 'Deletes an organization with all that it has, and reports what was erased',
  audit: 'by-verb',
  params: { organization_id: z.string().describe('The id of an organization.') },
  answer: erasureReportSchema,
  async handle({ params, request }, context) {
    const report = await deleteOrganization(params.organization_id, context, () => AbortSignal.timeout(TURN_WAIT_MS))
    await request.server.serverContext.recheckKeys()
    return wireErasureReport(report)
  },
})

export const peopleOperations = [
  createOrganizationOperation,
  removeOrganization,
  listOrganizationsOperation,
  createUserOperation,
  listUsersOperation,
  removeUser,
]
