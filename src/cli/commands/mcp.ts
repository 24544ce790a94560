import { defined } from '../../core/defined.ts'
import type { Json } from '../../core/json.ts'
import type { McpAuthorization } from '../../core/mcp-oauth.ts'
import { MAX_MCP_CALL_SECONDS, MCP_CALL_SECONDS } from '../../core/mcp-server.ts'
import { Problem } from '../../core/problem.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { listMcpServers, mcpServerTools, type ShownMcpServer } from '../../service/tools/mcp-servers.ts'
import { type CliContext, printJson, withApp } from '../cli-context.ts'
import { confirmRemoval } from '../confirm-removal.ts'
import { withHome } from '../home-session.ts'
import { pickOne } from '../pick-one.ts'
import { type JsonFlag, printResult } from '../print-result.ts'
import { commandLine } from '../program-name.ts'
import { secretFromPipe } from '../read-secret.ts'
import { ageText, count } from '../render/run.ts'
import { shortId } from '../render/short-id.ts'
import { printFields, printTable } from '../render/table.ts'
import { timeJson } from '../run-json.ts'
import { type Look, safeName, safeText } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'
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
    const { contact, shownSecrets, transport, authorization } = server
    const now = context.deps.clock.now()
    const since = 'at' in contact ? `, ${ageText(now - contact.at)} ago` : ''
    out.line(`${out.look.paint.bold(safeName(server.name))} (${server.id})`)
    printFields(
      [
        ['address', safeText(addressOf(server))],
        ['transport', transport.type],
        ['time for a call', `${transport.timeoutSeconds ?? MCP_CALL_SECONDS} s`],
        ['state', `${contact.state}${since}`],
        ['detail', 'detail' in contact ? safeText(contact.detail) : ''],
        ['authorization', authorizationText(authorization, now)],
        ['token', shownSecrets.token],
        ['headers', Object.keys(shownSecrets.headers ?? {}).join(', ')],
        ['tools', count((await mcpServerTools(server.id, context)).length, 'tool')],
      ],
      out,
    )
  })

function authorizationText(authorization: McpAuthorization, now: number): string {
  switch (authorization.state) {
    case 'none':
      return ''
    case 'needed':
      return 'needed; see mcp connect'
    case 'waiting':
      return `waits for a person to open ${safeText(authorization.address)}`
    case 'authorized': {
      const { issuer, expiresAt, refreshFailure } = authorization
      const end = expiresAt === undefined ? '' : `, token ${expiresAt < now ? 'expired' : 'valid'}`
      const failure = refreshFailure === undefined ? '' : `; last renewal failed: ${refreshFailure}`
      return safeText(`by ${issuer}${end}${failure}`)
    }
  }
}

type AddFlags = JsonFlag & {
  sse?: boolean
  tokenStdin?: boolean
  header?: string[]
  command?: string[]
  env?: string[]
  egress?: string[]
  timeout?: string
}

/** A secret is read from stdin and never an argument, which other users of the machine can see. */
export const add = (name: string, url: string | undefined, { flags, cli }: { flags: AddFlags; cli: CliContext }) =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const config = await configOf(url, flags)
    const { id } = await api.request<{ id: string }>('POST', '/v1/mcp-servers', { server_name: name, config })
    await printServer(`Added ${safeName(name)}`, id, { context, flags, cli })
  })

async function configOf(url: string | undefined, flags: AddFlags) {
  const { command: [command, ...args] = [], sse, tokenStdin, header, env, egress, timeout } = flags
  if ((url === undefined) === (command === undefined))
    throw new Problem('invalid', 'Give the URL of the server, or --command with the program that is the server.')
  if (command !== undefined)
    return {
      mcp_server_type: 'stdio',
      command,
      args,
      ...defined({ env: pairs('--env', env), egress, timeout_seconds: secondsIn(timeout) }),
    }
  return {
    mcp_server_type: sse ? 'sse' : 'streamable_http',
    server_url: url,
    ...defined({
      auth_token: tokenStdin ? await secretFromPipe(process.stdin) : undefined,
      custom_headers: pairs('--header', header),
      timeout_seconds: secondsIn(timeout),
    }),
  }
}

const secondsIn = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : wholeNumber('--timeout', text, { from: 1, to: MAX_MCP_CALL_SECONDS })

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
  flags: JsonFlag & { name?: string; url?: string; tokenStdin?: boolean; header?: string[]; timeout?: string },
  cli: CliContext,
): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const server = await requireServerNamed(which, context)
    const config = defined({
      server_url: flags.url,
      auth_token: flags.tokenStdin ? await secretFromPipe(process.stdin) : undefined,
      custom_headers: pairs('--header', flags.header),
      timeout_seconds: secondsIn(flags.timeout),
    })
    const body = defined({ server_name: flags.name, config: Object.keys(config).length > 0 ? config : undefined })
    if (Object.keys(body).length === 0)
      throw new Problem('invalid', 'Nothing to change. Use --name, --url, --token-stdin, --header or --timeout.')
    await api.request('PATCH', `/v1/mcp-servers/${server.id}`, body)
    await printServer(`Updated ${safeName(server.name)}`, server.id, { context, flags, cli })
  })

export async function printServer(
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
      : contact.state === 'needs-authorization'
        ? `a person must authorize it. Begin with ${commandLine(`mcp connect ${server.name}`)}`
        : `${contact.state}, ${count(tools.length, 'tool')}`
  printResult(cli, flags, { sentence: `${done} (${server.id}): ${state}.`, value: serverJson(server) })
}

export const refresh = (which: string, flags: JsonFlag & { approve?: boolean }, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const server = await requireServerNamed(which, context)
    type Refreshed = { added: string[]; updated: string[]; waiting_for_approval: string[]; deleted: string[] }
    const path = `/v1/mcp-servers/${server.id}/refresh${flags.approve ? '?approve=true' : ''}`
    const refreshed = await api.request<Refreshed>('PATCH', path)
    const parts = Object.entries(refreshed).flatMap(([what, names]) =>
      what === 'waiting_for_approval' && names.length === 0
        ? []
        : [`${what.replaceAll('_', ' ')} ${names.map(safeText).join(', ') || 'none'}`],
    )
    if (refreshed.waiting_for_approval.length > 0)
      parts.push(`look at them and decide with ${commandLine(`mcp approve ${server.name}`)}`)
    printResult(cli, flags, {
      sentence: `${safeName(server.name)}: ${parts.join('; ')}.`,
      value: { id: server.id, ...refreshed },
    })
  })

export const tools = (which: string, { json }: JsonFlag, cli: CliContext): Promise<void> =>
  withApp(cli, 'guest', async ({ context }) => {
    const server = await requireServerNamed(which, context)
    printTools(await mcpServerTools(server.id, context), { json, out: cli.out })
  })

type ChangedTool = {
  tool_id: string
  name: string
  definition_hash: string
  approved: McpDefinition
  offered: McpDefinition
}

type McpDefinition = { description: string; parameters: Json; effects: string }

/** Shows each changed definition beside the approved one, and asks. */
export const approve = (
  which: string,
  toolName: string | undefined,
  { flags, cli }: { flags: JsonFlag & { yes?: boolean }; cli: CliContext },
): Promise<number> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const server = await requireServerNamed(which, context)
    const all = await api.request<ChangedTool[]>('GET', `/v1/mcp-servers/${server.id}/changed-tools`)
    const changed = toolName === undefined ? all : all.filter(({ name }) => name === toolName)
    if (changed.length === 0) {
      const what = toolName === undefined ? 'No tool' : `The tool ${toolName}`
      throw new Problem('not-found', `${what} of ${server.name} waits for approval.`)
    }
    const approved: string[] = []
    for (const tool of changed) {
      if (!flags.json) printChange(tool, cli)
      const what = `the definition of ${safeName(tool.name)}`
      if (!(await confirmRemoval({ verb: 'Approve', what, consequence: 'Agents can call it again.' }, flags, cli)))
        continue
      const path = `/v1/mcp-servers/${server.id}/tools/${tool.tool_id}/approve`
      await api.request('POST', path, { definition_hash: tool.definition_hash })
      approved.push(tool.name)
    }
    printResult(cli, flags, {
      sentence: approved.length > 0 ? `Approved ${approved.map(safeText).join(', ')}.` : 'Nothing was approved.',
      value: { id: server.id, approved },
    })
    return approved.length === changed.length ? 0 : 1
  })

/** Only what differs, the approved text first. */
function printChange({ name, approved, offered }: ChangedTool, { out }: CliContext): void {
  const { paint } = out.look
  out.line(`${paint.bold(safeName(name))} changed at its server:`)
  for (const field of ['description', 'parameters', 'effects'] as const) {
    const [before, after] = [approved, offered].map((one) =>
      typeof one[field] === 'string' ? one[field] : JSON.stringify(one[field], null, 2),
    )
    if (before === after) continue
    out.line(`  ${field}`)
    for (const line of before!.split('\n')) out.line(`    ${paint.red(`- ${safeText(line)}`)}`)
    for (const line of after!.split('\n')) out.line(`    ${paint.green(`+ ${safeText(line)}`)}`)
  }
}

type Catalog = {
  resources: { uri: string; name: string; description: string | null; mime_type: string | null }[]
  prompts: { name: string; description: string | null; arguments: string[] }[]
}

const catalogOf = (
  which: string,
  context: ServiceContext,
  api: { request<T>(method: string, path: string): Promise<T> },
) => requireServerNamed(which, context).then(({ id }) => api.request<Catalog>('GET', `/v1/mcp-servers/${id}/catalog`))

export const resources = (which: string, { json }: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const { resources: listed } = await catalogOf(which, context, api)
    if (json) return printJson(cli.out, listed)
    if (listed.length === 0) return cli.out.line('No resources.')
    printTable(
      listed,
      [
        { title: 'NAME', text: ({ name }) => name, paint: 'bold', shrinksTo: 12 },
        { title: 'TYPE', text: ({ mime_type }) => mime_type ?? '' },
        { title: 'URI', text: ({ uri }) => uri, shrinksTo: 16 },
      ],
      cli.out,
    )
  })

export const prompts = (which: string, { json }: JsonFlag, cli: CliContext): Promise<void> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const { prompts: listed } = await catalogOf(which, context, api)
    if (json) return printJson(cli.out, listed)
    if (listed.length === 0) return cli.out.line('No prompts.')
    printTable(
      listed,
      [
        { title: 'NAME', text: ({ name }) => name, paint: 'bold', shrinksTo: 12 },
        { title: 'ARGUMENTS', text: (prompt) => prompt.arguments.join(', ') },
        { title: 'DESCRIPTION', text: ({ description }) => description ?? '', shrinksTo: 16 },
      ],
      cli.out,
    )
  })

export const run = (
  which: string,
  toolName: string,
  { flags, cli }: { flags: JsonFlag & { args?: string }; cli: CliContext },
): Promise<number> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const server = await requireServerNamed(which, context)
    const own = await mcpServerTools(server.id, context)
    // The name at its server, which is another one here if it was taken.
    const tool =
      own.find(({ mcp }) => mcp?.toolName === toolName) ??
      pickOne(own, toolName, { prefix: 'tool', noun: `tool of ${server.name}`, lister: `mcp tools ${server.id}` })
    const path = `/v1/mcp-servers/${server.id}/tools/${tool.id}/run`
    return printRan(await api.request<RanTool>('POST', path, { args: parseArguments(flags.args) }), flags, cli)
  })

/** `detail` says whether its tokens were revoked. */
export type Disconnected = { connection: { detail: string | null } }

export const remove = (which: string, flags: JsonFlag & { yes?: boolean }, cli: CliContext): Promise<number> =>
  withHome(cli, 'rows', async ({ context, api }) => {
    const server = await requireServerNamed(which, context)
    const own = await mcpServerTools(server.id, context)
    const what = `the MCP server ${safeName(server.name)} (${server.id})`
    const consequence = `Its ${count(own.length, 'tool')} and its secrets go with it.`
    if (!(await confirmRemoval({ verb: 'Remove', what, consequence }, flags, cli))) return 1
    const path = `/v1/mcp-servers/${server.id}`
    const isAuthorized = server.authorization.state === 'authorized'
    // The answer to this says what became of its tokens; that of a deletion has no body.
    const ended = isAuthorized ? await api.request<Disconnected>('DELETE', `${path}/connect`) : undefined
    await api.request('DELETE', path)
    const detail = ended?.connection.detail
    printResult(cli, flags, {
      sentence: `Removed ${what}.${detail ? ` ${safeText(detail)}` : ''}`,
      value: { id: server.id, name: server.name, deleted: true, ...defined({ detail: detail ?? undefined }) },
    })
    return 0
  })

export const requireServerNamed = async (which: string, context: ServiceContext): Promise<ShownMcpServer> =>
  pickOne(await listMcpServers(context), which, { prefix: 'mcp_server', noun: 'MCP server', lister: 'mcp' })

const serverJson = (server: ShownMcpServer) => {
  const { id, name, transport, contact, createdAt } = server
  return {
    id,
    name,
    type: transport.type,
    address: addressOf(server),
    state: contact.state,
    detail: 'detail' in contact ? contact.detail : null,
    authorization: server.authorization.state,
    authorization_url: server.authorization.state === 'waiting' ? server.authorization.address : null,
    checked_at: 'at' in contact ? timeJson(contact.at) : null,
    created_at: timeJson(createdAt),
  }
}
