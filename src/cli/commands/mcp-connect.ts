import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { type ShownMcpServer, showMcpServer } from '../../service/tools/mcp-servers.ts'
import type { CliContext } from '../cli-context.ts'
import { printJson } from '../cli-context.ts'
import { type HomeSession, withHome } from '../home-session.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { secretFromPipe } from '../read-secret.ts'
import { safeText } from '../terminal.ts'
import { type Disconnected, printServer, requireServerNamed } from './mcp.ts'

type ConnectFlags = JsonFlag & { clientId?: string; clientSecretStdin?: boolean; pasteStdin?: boolean }

type Begun = { authorization_url: string; expires_at: string; redirect_url: string }

const POLL_MS = 500

/** A person authorizes this home at an MCP server: prints the address to open, and waits for the decision. */
export const connect = (which: string, flags: ConnectFlags, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async (session) => {
    const server = await requireServerNamed(which, session.context)
    if (flags.pasteStdin)
      return finishWith((await secretFromPipe(process.stdin)).trim(), server, { session, flags, cli })
    const client = defined({
      client_id: flags.clientId,
      client_secret: flags.clientSecretStdin ? await secretFromPipe(process.stdin) : undefined,
    })
    const path = `/v1/mcp-servers/${server.id}/connect`
    if (session.server) {
      const since = Date.now()
      const begun = await session.api.request<Begun>('POST', path, client)
      if (flags.json) return printJson(cli.out, begun)
      printAddress(begun, server, { cli, hint: 'Ctrl-C stops the wait; the address stays valid.' })
      await untilDecided(server, session.context, { since, until: new Date(begun.expires_at).getTime() })
      return printServer(`Connected ${safeText(server.name)}`, server.id, { context: session.context, flags, cli })
    }
    const listener = await listenForAnswer()
    try {
      const begun = await session.api.request<Begun>('POST', path, { ...client, redirect_url: listener.url })
      printAddress(begun, server, { cli, hint: 'The browser returns to this command.' })
      const until = new Date(begun.expires_at).getTime()
      await finishWith(await listener.answer(until - Date.now()), server, { session, flags, cli })
    } finally {
      listener.close()
    }
  })

function printAddress(
  { authorization_url }: Begun,
  { name }: ShownMcpServer,
  { cli: { out, notes }, hint }: { cli: CliContext; hint: string },
): void {
  notes.line(`Open this address and allow Holdfast to use ${safeText(name)}:`)
  out.line(safeText(authorization_url))
  notes.line(
    `If the browser then cannot reach Holdfast, give it the address it ended at: ${commandLine(`mcp connect ${name} --paste-stdin`)}`,
  )
  notes.line(`Waiting for the decision. ${hint}`)
}

/** Longer than the server waits for the token endpoint. */
const EXCHANGE_MS = 30_000

/** The server finishes it; this process only looks. */
async function untilDecided(
  { id, name }: ShownMcpServer,
  context: ServiceContext,
  { since, until }: { since: number; until: number },
): Promise<void> {
  let answeredAt: number | undefined
  for (;;) {
    const { authorization, contact } = await showMcpServer(id, context)
    if (authorization.state === 'authorized') {
      // The server reads the tools next; if it dies before that, they are read with a refresh.
      answeredAt ??= Date.now()
      if (contact.state !== 'not-asked' || Date.now() - answeredAt > EXCHANGE_MS) return
    }
    if (authorization.state === 'needed') {
      // Between the answer and the tokens it is needed, too: a refusal is stored with its time.
      const isRefused = contact.state === 'needs-authorization' && contact.at >= since
      answeredAt ??= Date.now()
      if (isRefused || Date.now() - answeredAt > EXCHANGE_MS)
        throw new Problem('conflict', `${name} was not connected: ${authorization.detail}`)
    }
    if (Date.now() >= until) throw new Problem('conflict', `No person authorized ${name} in time. Connect it again.`)
    await sleep(POLL_MS)
  }
}

async function finishWith(
  address: string,
  server: ShownMcpServer,
  { session, flags, cli }: { session: HomeSession; flags: ConnectFlags; cli: CliContext },
): Promise<void> {
  await session.api.request('POST', `/v1/mcp-servers/${server.id}/connect/finish`, { redirected_to: address })
  await printServer(`Connected ${safeText(server.name)}`, server.id, { context: session.context, flags, cli })
}

/** Without a server, this process waits for the browser itself (RFC 8252: any port of the loopback address). */
async function listenForAnswer() {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  promise.catch(() => undefined)
  const http = createServer((request, response) => {
    const address = new URL(request.url ?? '/', `http://${request.headers.host ?? '127.0.0.1'}`)
    if (address.pathname !== '/callback') return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
    response.end('The terminal says how it ended. You can close this page.\n')
    resolve(address.href)
  })
  await new Promise<void>((done, failed) => http.once('error', failed).listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/callback`,
    answer(ms: number) {
      setTimeout(
        () => reject(new Problem('conflict', 'No person authorized it in time. Connect it again.')),
        ms,
      ).unref()
      return promise
    },
    close() {
      http.close()
      http.closeAllConnections()
    },
  }
}

/** Deletes the tokens of a server, and prints whether they were revoked. */
export const disconnect = (which: string, flags: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const server = await requireServerNamed(which, context)
    const { connection } = await api.request<Disconnected>('DELETE', `/v1/mcp-servers/${server.id}/connect`)
    printResult(cli, flags, {
      sentence: `Disconnected ${safeText(server.name)}. ${safeText(connection.detail ?? '')}`.trimEnd(),
      value: { id: server.id, name: server.name, connected: false, detail: connection.detail },
    })
  })
