import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { listMcpServers, mcpServerTools, type ShownMcpServer } from '../../service/tools/mcp-servers.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { withHome } from '../home-session.ts'
import { pickOne } from '../pick-one.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { secretFromPipe } from '../read-secret.ts'
import { ageText, count } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { printFields, printTable } from '../render/table.ts'
import { timeJson } from '../run-json.ts'
import { type Look, safeText } from '../terminal.ts'
import { parseArguments, printRan, printTools, type RanTool } from './tools.ts'

export const listAll = ({ json }: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const servers = await listMcpServers(context)
    if (json) return printJson(out, servers.map(serverJson))
    if (servers.length === 0) return out.line('No MCP servers.')
    printTable(
      servers,
      [
        { title: 'NAME', text: ({ name }) => name, paint: 'bold', shrinksTo: 8 },
        { title: 'ID', text: ({ id }) => id, short: ({ id }) => shortId(id) },
        { title: 'STATE', text: ({ contact }) => contact.state, paint: stateColor },
        { title: 'ADDRESS', text: addressOf, shrinksTo: 16 },
      ],
      out,
    )
  })

const stateColor = ({ contact }: ShownMcpServer): keyof Look['paint'] | undefined =>
  contact.state === 'reached' ? 'green' : contact.state === 'failed' ? 'red' : 'yellow'

const addressOf = ({ transport }: ShownMcpServer): string =>
  transport.type === 'stdio' ? [transport.command, ...transport.args].join(' ') : transport.url

export const show = (which: string, { json }: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const { out } = cli
    const server = await requireServerNamed(which, context)
    if (json) return printJson(out, serverJson(server))
    const { contact, shownSecrets, transport } = server
    const now = context.deps.clock.now()
    const since = contact.state === 'reached' || contact.state === 'failed' ? `, ${ageText(now - contact.at)} ago` : ''
    out.line(`${out.look.paint.bold(safeText(server.name))} (${server.id})`)
    printFields(
      [
        ['address', safeText(addressOf(server))],
        ['transport', transport.type],
        ['state', `${contact.state}${since}`],
        ['detail', contact.state === 'failed' ? safeText(contact.detail) : ''],
        ['token', shownSecrets.token],
        ['headers', Object.keys(shownSecrets.headers ?? {}).join(', ')],
        ['tools', count((await mcpServerTools(server.id, context)).length, 'tool')],
      ],
      out,
    )
  })

type AddFlags = JsonFlag & {
  sse?: boolean
  tokenStdin?: boolean
  header?: string[]
  command?: string[]
  env?: string[]
}

/** A secret is read from stdin and never an argument, which other users of the machine can see. */
export const add = (name: string, url: string | undefined, { flags, cli }: { flags: AddFlags; cli: CliContext }) =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const config = await configOf(url, flags)
    const { id } = await api.request<{ id: string }>('POST', '/v1/mcp-servers', { server_name: name, config })
    await printServer(`Added ${safeText(name)}`, id, { context, flags, cli })
  })

async function configOf(url: string | undefined, flags: AddFlags) {
  const { command: [command, ...args] = [], sse, tokenStdin, header, env } = flags
  if ((url === undefined) === (command === undefined))
    throw new Problem('invalid', 'Give the URL of the server, or --command with the program that is the server.')
  if (command !== undefined)
    return { mcp_server_type: 'stdio', command, args, ...defined({ env: pairs('--env', env) }) }
  return {
    mcp_server_type: sse ? 'sse' : 'streamable_http',
    server_url: url,
    ...defined({
      auth_token: tokenStdin ? await secretFromPipe(process.stdin) : undefined,
      custom_headers: pairs('--header', header),
    }),
  }
}

function pairs(flag: string, texts: string[] | undefined): Record<string, string> | undefined {
  return texts && Object.fromEntries(texts.map(pair))
  function pair(text: string): [string, string] {
    const at = text.indexOf('=')
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
    throw new Problem('invalid', `${flag} must be name=value, not "${text}".`)
  }
}

export const update = (
  which: string,
  flags: JsonFlag & { name?: string; url?: string; tokenStdin?: boolean; header?: string[] },
  cli: CliContext,
): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const server = await requireServerNamed(which, context)
    const config = defined({
      server_url: flags.url,
      auth_token: flags.tokenStdin ? await secretFromPipe(process.stdin) : undefined,
      custom_headers: pairs('--header', flags.header),
    })
    const body = defined({ server_name: flags.name, config: Object.keys(config).length > 0 ? config : undefined })
    if (Object.keys(body).length === 0)
      throw new Problem('invalid', 'Nothing to change. Use --name, --url, --token-stdin or --header.')
    await api.request('PATCH', `/v1/mcp-servers/${server.id}`, body)
    await printServer(`Updated ${safeText(server.name)}`, server.id, { context, flags, cli })
  })

async function printServer(
  done: string,
  id: string,
  { context, flags, cli }: { context: ServiceContext; flags: JsonFlag; cli: CliContext },
): Promise<void> {
  const server = await requireServerNamed(id, context)
  const { contact } = server
  const tools = await mcpServerTools(server.id, context)
  const state =
    contact.state === 'failed'
      ? `it cannot be used yet: ${safeText(contact.detail)}`
      : `${contact.state}, ${count(tools.length, 'tool')}`
  printResult(cli, flags, { sentence: `${done} (${server.id}): ${state}.`, value: serverJson(server) })
}

export const refresh = (which: string, flags: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const server = await requireServerNamed(which, context)
    type Refreshed = { added: string[]; updated: string[]; deleted: string[] }
    const refreshed = await api.request<Refreshed>('PATCH', `/v1/mcp-servers/${server.id}/refresh`)
    const parts = Object.entries(refreshed).map(
      ([what, names]) => `${what} ${names.map(safeText).join(', ') || 'none'}`,
    )
    printResult(cli, flags, {
      sentence: `${safeText(server.name)}: ${parts.join('; ')}.`,
      value: { id: server.id, ...refreshed },
    })
  })

export const tools = (which: string, { json }: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const server = await requireServerNamed(which, context)
    printTools(await mcpServerTools(server.id, context), { json, out: cli.out })
  })

export const run = (
  which: string,
  toolName: string,
  { flags, cli }: { flags: JsonFlag & { args?: string }; cli: CliContext },
): Promise<number> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const server = await requireServerNamed(which, context)
    const own = await mcpServerTools(server.id, context)
    const tool = pickOne(own, toolName, {
      prefix: 'tool',
      noun: `tool of ${server.name}`,
      lister: `mcp tools ${server.id}`,
    })
    const path = `/v1/mcp-servers/${server.id}/tools/${tool.id}/run`
    return printRan(await api.request<RanTool>('POST', path, { args: parseArguments(flags.args) }), flags, cli)
  })

export const remove = (which: string, flags: JsonFlag & { yes?: boolean }, cli: CliContext): Promise<number> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const server = await requireServerNamed(which, context)
    const own = await mcpServerTools(server.id, context)
    const what = `the MCP server ${safeText(server.name)} (${server.id})`
    const consequence = `Its ${count(own.length, 'tool')} and its secrets go with it.`
    if (!(await confirmRemoval({ verb: 'Remove', what, consequence }, flags, cli))) return 1
    await api.request('DELETE', `/v1/mcp-servers/${server.id}`)
    printResult(cli, flags, {
      sentence: `Removed ${what}.`,
      value: { id: server.id, name: server.name, deleted: true },
    })
    return 0
  })

const requireServerNamed = async (which: string, context: ServiceContext): Promise<ShownMcpServer> =>
  pickOne(await listMcpServers(context), which, { prefix: 'mcp_server', noun: 'MCP server', lister: 'mcp' })

const serverJson = (server: ShownMcpServer) => {
  const { id, name, transport, contact, createdAt } = server
  return {
    id,
    name,
    type: transport.type,
    address: addressOf(server),
    state: contact.state,
    detail: contact.state === 'failed' ? contact.detail : null,
    checked_at: contact.state === 'reached' || contact.state === 'failed' ? timeJson(contact.at) : null,
    created_at: timeJson(createdAt),
  }
}
