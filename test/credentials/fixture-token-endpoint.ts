import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type TokenEndpointRequest = {
  method: string
  path: string
  headers: IncomingMessage['headers']
  fields: Record<string, string>
}
export type TokenEndpointReply = { status?: number; body: unknown } | 'hang' | 'cut'

export type TokenEndpoint = {
  url: string
  requests: TokenEndpointRequest[]
  /** Sets the handler of the next requests; undefined restores the default, which rotates tokens. */
  answer(
    handler: ((request: TokenEndpointRequest) => TokenEndpointReply | Promise<TokenEndpointReply>) | undefined,
  ): void
  close(): Promise<void>
}

/** A vendor with single-use refresh tokens: `refresh-0` first, then the token of the last answer. */
export async function startTokenEndpoint(): Promise<TokenEndpoint> {
  const requests: TokenEndpointRequest[] = []
  let handler: ((requests: TokenEndpointRequest) => TokenEndpointReply | Promise<TokenEndpointReply>) | undefined
  let round = 0
  const rotate = ({ fields }: TokenEndpointRequest): TokenEndpointReply => {
    if (fields.refresh_token !== `refresh-${round}`)
      return { status: 400, body: { error: { code: 'refresh_token_reused', message: 'already used' } } }
    round++
    return { body: { access_token: `access-${round}`, refresh_token: `refresh-${round}`, expires_in: 3_600 } }
  }
  const server = createServer(async (request, response) => {
    const one: TokenEndpointRequest = {
      method: request.method!,
      path: request.url!,
      headers: request.headers,
      fields: fieldsOf(await textOf(request), request.headers['content-type'] ?? ''),
    }
    requests.push(one)
    send(response, await (handler ?? rotate)(one))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: (next) => {
      handler = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function send(response: ServerResponse, reply: TokenEndpointReply): void {
  if (reply === 'hang') return
  if (reply === 'cut') return void response.destroy()
  response.writeHead(reply.status ?? 200, { 'content-type': 'application/json' })
  response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body))
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request) text += piece
  return text
}

const fieldsOf = (text: string, type: string): Record<string, string> =>
  type.includes('json') ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text))
