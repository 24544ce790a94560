import type { McpServerId, ToolId } from '../../core/id.ts'
import {
  addressFault,
  hasMasked,
  isOfOperators,
  type McpContact,
  type McpPlace,
  type McpSecrets,
  type McpServer,
  maskedSecrets,
  withKept,
} from '../../core/mcp-server.ts'
import { planTools } from '../../core/mcp-tools.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import type { Mcp, McpListing } from '../../ports/mcp.ts'
import type { PlanTools } from '../../ports/mcp-store.ts'
import type { Desk } from '../desk.ts'

export type NewMcpServer = { name: string; place: McpPlace; secrets: McpSecrets }

/** What is absent stays. A secret that is null is taken away. */
export type McpServerChange = {
  name?: string
  place?: McpPlace
  secrets?: { [Key in keyof McpSecrets]?: McpSecrets[Key] | null }
}

/** With its secrets as people may see them. */
export type ShownMcpServer = McpServer & { shown: McpSecrets }

type RefreshedTools = { added: string[]; updated: string[]; deleted: string[] }

/** Also kept when it cannot be reached now: `contact` says so, and a refresh looks again. */
export async function createMcpServer({ name, place, secrets }: NewMcpServer, desk: Desk): Promise<ShownMcpServer> {
  const { mcp } = desk.world
  refuseAddress(place, desk)
  refuseMasked(secrets)
  const { store, clock, randomness } = desk.world
  const id: McpServerId = `mcp_server-${randomness.uuid()}`
  const now = clock.now()
  const server: McpServer = {
    id,
    organizationId: desk.organizationId,
    name: requireName(name),
    place,
    ...(isEmpty(secrets) ? {} : { sealed: mcp.seal(secrets, id) }),
    contact: WAITS,
    revision: 1,
    createdAt: now,
    updatedAt: now,
  }
  // Checked before the server is asked, so that a name that is taken is refused without a wait.
  if ((await store.mcpServers.list(desk.organizationId)).some((one) => one.name === server.name)) throw nameTaken(name)
  const found = place.type === 'stdio' ? undefined : await mcp.list(server)
  const looked = { ...server, contact: found ? contactOf(found, desk) : WAITS }
  const plan = found?.type === 'listed' ? planOf(server, found, desk) : undefined
  if ((await store.mcpServers.create(looked, plan)) === 'name-taken') throw nameTaken(name)
  return shown(looked, mcp)
}

export async function listMcpServers(desk: Desk): Promise<ShownMcpServer[]> {
  const { mcp } = desk.world
  return (await desk.world.store.mcpServers.list(desk.organizationId)).map((server) => shown(server, mcp))
}

export async function showMcpServer(id: McpServerId, desk: Desk): Promise<ShownMcpServer> {
  return shown(await requireServer(id, desk), desk.world.mcp)
}

export async function updateMcpServer(id: McpServerId, change: McpServerChange, desk: Desk): Promise<ShownMcpServer> {
  const { mcp } = desk.world
  const now = desk.world.clock.now()
  if (change.place) refuseAddress(change.place, desk)
  const updated = await desk.world.store.mcpServers.update(desk.organizationId, id, (before) => {
    const place = change.place ?? before.place
    if (place.type !== before.place.type)
      throw new Problem(
        'invalid',
        `${before.name} is a ${before.place.type} server and stays one. Make another instead.`,
      )
    const { sealed: _, ...rest } = before
    const secrets = change.secrets ? changedSecrets(before, change.secrets, mcp) : undefined
    const sealed = secrets ? (isEmpty(secrets) ? undefined : mcp.seal(secrets, id)) : before.sealed
    const contact = change.place || change.secrets ? contactAfter(place) : before.contact
    const name = change.name === undefined ? before.name : requireName(change.name)
    return {
      ...rest,
      name,
      place,
      contact,
      revision: before.revision + 1,
      updatedAt: now,
      ...(sealed === undefined ? {} : { sealed }),
    }
  })
  if (updated === 'name-taken') throw nameTaken(change.name ?? '')
  if (!updated) throw notFound(id)
  mcp.forget(id)
  return shown(updated, mcp)
}

export async function deleteMcpServer(id: McpServerId, desk: Desk): Promise<void> {
  if (!(await desk.world.store.mcpServers.delete(desk.organizationId, id))) throw notFound(id)
  desk.world.mcp.forget(id)
}

/** `failed`: it could not be asked, which is kept with it; its tools stay as they are. */
export type Refreshed =
  | { type: 'refreshed'; tools: RefreshedTools }
  | { type: 'waits-for-sandbox' }
  | Exclude<McpListing, { type: 'listed' }>

export async function refreshMcpServer(id: McpServerId, desk: Desk): Promise<Refreshed> {
  const { mcp } = desk.world
  const server = await requireServer(id, desk)
  if (server.place.type === 'stdio') return { type: 'waits-for-sandbox' }
  const found = await mcp.list(server)
  const plan = found.type === 'listed' ? { plan: planOf(server, found, desk) } : {}
  const at = desk.world.clock.now()
  const finding = { revision: server.revision, contact: contactOf(found, desk), at, ...plan }
  const done = await desk.world.store.mcpServers.record(desk.organizationId, id, finding)
  if (!done) throw notFound(id)
  if (done === 'moved')
    throw new Problem('conflict', `The server ${server.name} was changed while its tools were read. Refresh it again.`)
  if (found.type === 'failed') return found
  const names = (tools: StoredTool[]) => tools.map(({ name }) => name)
  return {
    type: 'refreshed',
    tools: { added: names(done.add), updated: names(done.change), deleted: names(done.remove) },
  }
}

export async function mcpServerTools(id: McpServerId, desk: Desk): Promise<StoredTool[]> {
  await requireServer(id, desk)
  return desk.world.store.mcpServers.tools(desk.organizationId, id)
}

export async function requireMcpServerTool(id: McpServerId, toolId: ToolId, desk: Desk): Promise<StoredTool> {
  const tool = (await mcpServerTools(id, desk)).find((one) => one.id === toolId)
  if (tool) return tool
  throw new Problem('not-found', `The MCP server ${id} has no tool ${toolId}.`)
}

const WAITS: McpContact = { state: 'waits-for-sandbox' }

const contactAfter = ({ type }: McpPlace): McpContact => (type === 'stdio' ? WAITS : { state: 'not-asked' })

const contactOf = (found: McpListing, { world }: Desk): McpContact =>
  found.type === 'listed'
    ? { state: 'reached', at: world.clock.now() }
    : { state: 'failed', at: world.clock.now(), detail: found.detail }

/** Ids are chosen here: the plan itself may be asked more than once. */
function planOf(server: McpServer, { tools }: Extract<McpListing, { type: 'listed' }>, { world }: Desk): PlanTools {
  const ids = tools.map((): ToolId => `tool-${world.randomness.uuid()}`)
  const now = world.clock.now()
  return ({ known, isTaken }) =>
    planTools({
      server,
      listed: tools,
      known,
      ids,
      now,
      isTaken: (name) => isTaken(name) || world.tools.find(name) !== undefined,
    })
}

function changedSecrets(before: McpServer, change: NonNullable<McpServerChange['secrets']>, mcp: Mcp): McpSecrets {
  const kept = mcp.secretsOf(before)
  // Secrets that cannot be opened cannot be kept in part: sending all of them makes the server work again.
  const said = Object.entries(change).filter(([, value]) => value !== undefined && value !== null)
  const gone = Object.entries(change).filter(([, value]) => value === null)
  const sent = withKept(Object.fromEntries(said), kept ?? {})
  const all = { ...kept, ...sent }
  const left: McpSecrets = Object.fromEntries(
    Object.entries(all).filter(([key]) => !gone.some(([name]) => name === key)),
  )
  refuseMasked(left)
  return left
}

function refuseMasked(secrets: McpSecrets): void {
  if (hasMasked(secrets))
    throw new Problem('invalid', 'A secret that begins with … was shortened to be shown. Send it whole.')
}

/** Secrets that cannot be opened are shown as there are none; the first call says why. */
const shown = (server: McpServer, mcp: Mcp): ShownMcpServer => ({
  ...server,
  shown: maskedSecrets(mcp.secretsOf(server) ?? {}),
})

const isEmpty = (secrets: McpSecrets): boolean => Object.values(secrets).every((value) => value === undefined)

function refuseAddress(place: McpPlace, desk: Desk): void {
  if (place.type === 'stdio') {
    if (isOfOperators(desk)) return
    throw new Problem('invalid', 'A program of its own (stdio) can only be named by whoever runs this server.')
  }
  const fault =
    addressFault(place.url) ?? (isOfOperators(desk) ? undefined : desk.outbound.addressFault(place.url, 'public'))
  if (fault) throw new Problem('invalid', `${place.url} cannot be the address of a server: ${fault}.`)
}

function requireName(name: string): string {
  const trimmed = name.trim()
  if (trimmed === '') throw new Problem('invalid', 'An MCP server needs a name.')
  return trimmed
}

async function requireServer(id: McpServerId, desk: Desk): Promise<McpServer> {
  const server = await desk.world.store.mcpServers.get(desk.organizationId, id)
  if (server) return server
  throw notFound(id)
}

const notFound = (id: McpServerId) => new Problem('not-found', `There is no MCP server ${id}.`)

const nameTaken = (name: string) => new Problem('conflict', `There is an MCP server named ${name} already.`)
