import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import {
  connectMcpServer,
  disconnectMcpServer,
  finishMcpAuthorization,
  replyFrom,
} from '../../service/tools/mcp-authorization.ts'
import { mcpServerPath } from '../letta/path-params.ts'
import { mcpServerSchema, wireMcpServer } from '../letta/wire/mcp-server.ts'
import { operation } from '../operation.ts'
import { dateSchema } from '../wire-date.ts'

const CALLBACK = '/v1/mcp-servers/oauth/callback'

const begunSchema = z.lazy(() =>
  z
    .object({
      authorization_url: z.string().describe('A person opens it and decides.'),
      expires_at: dateSchema.describe('Until then the same address is returned for a repeated request.'),
      redirect_url: z.string().describe('Where the person is sent then. Holdfast finishes the authorization there.'),
    })
    .meta({ id: 'McpAuthorizationStart', description: 'How to authorize this server at an MCP server.' }),
)

const connectServer = operation({
  route: 'POST /v1/mcp-servers/:mcp_server_id/connect',
  scope: 'admin',
  summary: 'Begins the authorization of an MCP server by a person (OAuth)',
  audit: 'with-change',
  params: mcpServerPath,
  body: z.object({
    redirect_url: z
      .string()
      .max(2_000)
      .optional()
      .describe('Default: an address of this server. Another one passes what it receives to `…/connect/finish`.'),
    client_id: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('Of a client that you registered there. Default: one is registered.'),
    client_secret: z.string().min(1).max(2_000).optional().describe('Its secret, stored encrypted.'),
  }),
  example: {},
  answer: begunSchema,
  async handle({ params, body, request }, context) {
    const { redirect_url, client_id, client_secret } = body
    if (client_secret !== undefined && client_id === undefined)
      throw new Problem('invalid', 'A client_secret belongs to a client_id. Send both.')
    const redirectUrl = redirect_url ?? `${request.protocol}://${request.host}${CALLBACK}`
    const client =
      client_id === undefined ? undefined : { client_id, isGiven: true as const, ...defined({ client_secret }) }
    const id = params.mcp_server_id
    const { address, until } = await connectMcpServer({ id, redirectUrl, ...defined({ client }) }, context)
    return { authorization_url: address, expires_at: new Date(until).toISOString(), redirect_url: redirectUrl }
  },
})

const finishConnection = operation({
  route: 'POST /v1/mcp-servers/:mcp_server_id/connect/finish',
  scope: 'admin',
  summary: 'Finishes the authorization of an MCP server with the address that the person was sent to',
  audit: 'by-verb',
  params: mcpServerPath,
  body: z.object({ redirected_to: z.string().max(8_000).describe('The whole address, with its parameters.') }),
  example: { redirected_to: 'http://127.0.0.1:8283/v1/mcp-servers/oauth/callback?code=…&state=…' },
  answer: mcpServerSchema,
  async handle({ params, body: { redirected_to: address } }, context) {
    if (!URL.canParse(address)) throw new Problem('invalid', 'redirected_to is not an address.')
    const reply = replyFrom(new URL(address).searchParams)
    return wireMcpServer(await finishMcpAuthorization({ id: params.mcp_server_id, ...reply }, context), context)
  },
})

const disconnectServer = operation({
  route: 'DELETE /v1/mcp-servers/:mcp_server_id/connect',
  scope: 'admin',
  summary: 'Ends the authorization of an MCP server: deletes its tokens',
  audit: 'with-change',
  params: mcpServerPath,
  answer: mcpServerSchema,
  handle: async ({ params }, context) =>
    wireMcpServer(await disconnectMcpServer(params.mcp_server_id, context), context),
})

const PAGE_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

/** The parameter `state` is the proof: only this home can make one, and it is valid for one answer. */
const callback = operation({
  route: `GET ${CALLBACK}`,
  scope: 'open',
  summary: 'Where an authorization server sends a person back; needs no key',
  group: 'mcp-servers',
  audit: 'none',
  produces: 'text/html',
  answer: z.string(),
  async handle({ request, reply }, context) {
    try {
      const { name } = await finishMcpAuthorization(replyFrom(parametersOf(request)), context)
      return page(reply, 200, `${name} is connected. You can close this page.`)
    } catch (fault) {
      if (!(fault instanceof Problem) || !isBrowser(request)) throw fault
      return page(reply, fault.kind === 'invalid' ? 422 : 409, fault.message)
    }
  },
})

const isBrowser = ({ headers }: FastifyRequest): boolean => /\btext\/html\b/.test(headers.accept ?? '')

const parametersOf = ({ url }: FastifyRequest): URLSearchParams => new URL(url, 'http://here').searchParams

function page(reply: FastifyReply, status: number, sentence: string): FastifyReply {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Holdfast</title><p>${escaped(sentence)}</p></html>\n`
  return reply.code(status).headers(PAGE_HEADERS).type('text/html; charset=utf-8').send(html)
}

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

export const mcpAuthorizationOperations = [connectServer, finishConnection, disconnectServer, callback]
