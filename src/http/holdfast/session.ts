import { z } from 'zod'
import { bearerToken } from '../api-key.ts'
import { nothing, operation } from '../operation.ts'

const sessionSchema = z.lazy(() =>
  z
    .object({
      actor: z.string().describe('"home" for the key of the home, or the id of the key.'),
      scope: z.string().describe('What the key may do.'),
      organization_id: z.string(),
      user_id: z.string().nullable(),
      version: z.string().describe('Version of the server.'),
    })
    .meta({ id: 'Session', description: 'Who the key of this request belongs to.' }),
)

const showSession = operation({
  route: 'GET /v1/session',
  scope: 'read',
  summary: 'Shows whose key this is and what it may do',
  answer: sessionSchema,
  handle({ request }, { caller, organizationId }) {
    const { actor, scope, userId } = caller
    const { version } = request.server.serverContext
    return { actor, scope, organization_id: organizationId, user_id: userId ?? null, version }
  },
})

const signIn = operation({
  route: 'POST /v1/session',
  scope: 'read',
  summary: 'Signs a browser in: exchanges the key of this request for a cookie that only pages of this server can use',
  audit: 'before',
  answer: nothing,
  handle({ request, reply }) {
    const { sessions } = request.server.serverContext
    const token = bearerToken(request.headers.authorization) ?? ''
    reply.header('set-cookie', sessions.cookieFor(token, request))
    return undefined
  },
})

const signOut = operation({
  route: 'DELETE /v1/session',
  scope: 'open',
  summary: 'Signs a browser out: removes its cookie; needs no key',
  audit: 'none',
  answer: nothing,
  handle({ request, reply }) {
    reply.header('set-cookie', request.server.serverContext.sessions.expired())
    return undefined
  },
})

const linkSchema = z.lazy(() =>
  z
    .object({ path: z.string().describe('Open it at the address of this server. It works once, within ten minutes.') })
    .meta({ id: 'SignInLink' }),
)

const createLink = operation({
  route: 'POST /v1/session/links',
  scope: 'operator',
  summary: 'Creates a one-time link that signs a browser in with the key of the home',
  audit: 'before',
  answer: linkSchema,
  handle: ({ request }) => ({ path: signInPath(request.server.serverContext.sessions.newLink()) }),
})

/** After the #, so that the token is in no log and no request. */
export const signInPath = (link: string): string => `/#sign-in=${link}`

export const sessionOperations = [showSession, signIn, signOut, createLink]
