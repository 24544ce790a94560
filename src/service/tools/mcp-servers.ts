import { defined } from '../../core/defined.ts'
import type { McpServerId, ToolId } from '../../core/id.ts'
import { canonicalJson } from '../../core/json.ts'
import { type McpAuthorization, type McpRevocation, revocationText } from '../../core/mcp-oauth.ts'
import {
  hasMaskedValue,
  isOperatorServer,
  type McpContact,
  type McpSecrets,
  type McpServer,
  type McpToolDefinition,
  type McpTransport,
  maskedSecrets,
  restoreMaskedSecrets,
  urlFault,
} from '../../core/mcp-server.ts'
import { planTools, withApproval } from '../../core/mcp-tools.ts'
import { Problem } from '../../core/problem.ts'
import type { StoredTool } from '../../core/stored-tool.ts'
import type { Mcp, McpCatalog, McpListing } from '../../ports/mcp.ts'
import type { PlanTools } from '../../ports/mcp-store.ts'
import { newAuditEntry } from '../people/audit.ts'
import type { ServiceContext } from '../service-context.ts'

export type NewMcpServer = { name: string; transport: McpTransport; secrets: McpSecrets }

/** Absent fields stay unchanged. A secret that is null is removed. */
export type McpServerChange = {
  name?: string
  transport?: McpTransport
  secrets?: { [Key in keyof McpSecrets]?: McpSecrets[Key] | null }
}

/** With masked secrets. */
export type ShownMcpServer = McpServer & { shownSecrets: McpSecrets; authorization: McpAuthorization }

/** `held`: their changed definitions wait for approval. */
type RefreshedTools = { added: string[]; updated: string[]; held: string[]; deleted: string[] }

/** A server that cannot be reached is stored too: `contact` has the failure, and a refresh tries again. */
export async function createMcpServer(
  { name, transport, secrets }: NewMcpServer,
  context: ServiceContext,
): Promise<ShownMcpServer> {
  const { mcp } = context.deps
  refuseAddress(transport, context)
  refuseMasked(secrets)
  const { store, clock, randomness } = context.deps
  const id: McpServerId = `mcp_server-${randomness.uuid()}`
  const now = clock.now()
  const server: McpServer = {
    id,
    organizationId: context.organizationId,
    name: requireName(name),
    transport,
    ...defined({ sealed: isEmpty(secrets) ? undefined : mcp.seal(secrets, id) }),
    contact: NOT_ASKED,
    revision: 1,
    createdAt: now,
    updatedAt: now,
  }
  // Checked before the request to the server, so that a taken name is refused without a wait.
  if ((await store.mcpServers.list(context.organizationId)).some((one) => one.name === server.name))
    throw nameTaken(name)
  const found = await mcp.list(server)
  const looked = { ...server, contact: contactOf(found, context) }
  const plan = found.type === 'listed' ? planOf(server, found, { context, changes: 'hold' }) : undefined
  if ((await store.mcpServers.create(looked, plan)) === 'name-taken') throw nameTaken(name)
  return toShownServer(looked, mcp)
}

export async function listMcpServers(context: ServiceContext): Promise<ShownMcpServer[]> {
  const { mcp, store } = context.deps
  return toShownServers(await store.mcpServers.list(context.organizationId), mcp)
}

export async function showMcpServer(id: McpServerId, context: ServiceContext): Promise<ShownMcpServer> {
  return toShownServer(await requireServer(id, context), context.deps.mcp)
}

export async function updateMcpServer(
  id: McpServerId,
  change: McpServerChange,
  context: ServiceContext,
): Promise<ShownMcpServer> {
  const { mcp } = context.deps
  const now = context.deps.clock.now()
  if (change.transport) refuseAddress(change.transport, context)
  let agreed: McpServer | undefined
  const updated = await context.deps.store.mcpServers.update(context.organizationId, id, (before) => {
    agreed = before
    const transport = change.transport ?? before.transport
    if (transport.type !== before.transport.type)
      throw new Problem(
        'invalid',
        `The type of ${before.name} (${before.transport.type}) cannot be changed. Create another MCP server instead.`,
      )
    const { sealed: _, ...rest } = before
    // Secrets belong to the place they were given for: another one gets those of this request only.
    const kept = isSamePlace(before.transport, transport) ? mcp.secretsOf(before) : {}
    const secrets =
      change.secrets || !isSamePlace(before.transport, transport) ? changedSecrets(kept, change.secrets) : undefined
    const sealed = secrets ? (isEmpty(secrets) ? undefined : mcp.seal(secrets, id)) : before.sealed
    const isOtherServer = !isSameConnection(before.transport, transport) || Object.keys(change.secrets ?? {}).length > 0
    const contact = isOtherServer ? NOT_ASKED : before.contact
    const name = change.name === undefined ? before.name : requireName(change.name)
    return {
      ...rest,
      name,
      transport,
      contact,
      revision: before.revision + 1,
      updatedAt: now,
      ...defined({ sealed }),
    }
  })
  if (updated === 'name-taken') throw nameTaken(change.name ?? '')
  if (!updated) throw notFound(id)
  mcp.forget(id)
  // Its tokens went with the secrets of the former place; what they were sealed with is gone too.
  if (!mcp.secretsOf(updated)?.oauth)
    await recordRevocation(updated, await mcp.authorizations.end(updated, agreed), context)
  return toShownServer(updated, mcp)
}

/** Its tokens are deleted with it; then they are revoked where they came from, which cannot keep it from being deleted. */
export async function deleteMcpServer(id: McpServerId, context: ServiceContext): Promise<McpRevocation> {
  const { mcp, store } = context.deps
  const server = await requireServer(id, context)
  const revoke = await mcp.authorizations.prepareRevocation(server)
  if (!(await store.mcpServers.delete(context.organizationId, id))) throw notFound(id)
  const [revocation] = await Promise.all([revoke(), mcp.remove(id)])
  await recordRevocation(server, revocation, context)
  return revocation
}

/** The audit log says whether tokens that were deleted here still exist elsewhere. */
export async function recordRevocation(
  { id, organizationId }: McpServer,
  revocation: McpRevocation,
  context: ServiceContext,
): Promise<void> {
  if (revocation.type === 'none') return
  const outcome = revocation.type === 'revoked' ? 'done' : 'failed'
  const action = { verb: 'mcp-server.revoke-tokens', object: id, organizationId, outcome } as const
  await context.deps.store.audit.append(newAuditEntry({ ...action, detail: revocationText(revocation) }, context))
}

/** `failed`: the server did not answer. The failure is stored with it, and its tools stay unchanged. */
export type McpRefreshResult = { type: 'refreshed'; tools: RefreshedTools } | Exclude<McpListing, { type: 'listed' }>

export async function refreshMcpServer(
  id: McpServerId,
  context: ServiceContext,
  changes: 'hold' | 'approve' = 'hold',
): Promise<McpRefreshResult> {
  const { mcp } = context.deps
  const server = await requireServer(id, context)
  const found = await mcp.list(server)
  const plan = found.type === 'listed' ? { plan: planOf(server, found, { context, changes }) } : {}
  const at = context.deps.clock.now()
  const finding = { revision: server.revision, contact: contactOf(found, context), at, ...plan }
  const done = await context.deps.store.mcpServers.record(context.organizationId, id, finding)
  if (!done) throw notFound(id)
  if (done === 'moved')
    throw new Problem('conflict', `The server ${server.name} was changed while its tools were read. Refresh it again.`)
  if (found.type !== 'listed') return found
  const names = (tools: StoredTool[]) => tools.map(({ name }) => name)
  return {
    type: 'refreshed',
    tools: {
      added: names(done.add),
      updated: names(done.change.filter(({ mcp }) => !mcp?.changed)),
      held: names(done.change.filter(({ mcp }) => mcp?.changed)),
      deleted: names(done.remove),
    },
  }
}

export async function mcpServerTools(id: McpServerId, context: ServiceContext): Promise<StoredTool[]> {
  await requireServer(id, context)
  return context.deps.store.mcpServers.tools(context.organizationId, id)
}

/** Asks the server: its resources and prompts are not stored. */
export async function mcpServerCatalog(id: McpServerId, context: ServiceContext): Promise<McpCatalog> {
  return context.deps.mcp.catalog(await requireServer(id, context))
}

export async function requireMcpServerTool(
  id: McpServerId,
  toolId: ToolId,
  context: ServiceContext,
): Promise<StoredTool> {
  const tool = (await mcpServerTools(id, context)).find((one) => one.id === toolId)
  if (tool) return tool
  throw new Problem('not-found', `The MCP server ${id} has no tool ${toolId}.`)
}

/** Makes the definition that its server lists now the one of the tool. `hash` names the definition that was looked at. */
export async function approveMcpTool(
  { id, toolId, hash }: { id: McpServerId; toolId: ToolId; hash?: string },
  context: ServiceContext,
): Promise<StoredTool> {
  const server = await requireServer(id, context)
  const tool = await requireMcpServerTool(id, toolId, context)
  const { store, clock } = context.deps
  const approved = await store.tools.update(context.organizationId, tool.id, (current) => {
    const offered = current.mcp?.changed && definitionHash(current.mcp.changed.definition, context)
    if (!offered) throw new Problem('conflict', `The definition of ${current.name} has not changed.`)
    if (hash !== undefined && hash !== offered)
      throw new Problem(
        'conflict',
        `The definition of ${current.name} changed again and now has the hash ${offered}. Look at it, then approve that one.`,
      )
    return withApproval(current, server, clock.now())
  })
  if (approved && approved !== 'name-taken') return approved
  throw new Problem('not-found', `The MCP server ${id} has no tool ${toolId}.`)
}

export const definitionHash = (definition: McpToolDefinition, { deps }: Pick<ServiceContext, 'deps'>): string =>
  deps.digest(canonicalJson(definition))

const NOT_ASKED: McpContact = { state: 'not-asked' }

function contactOf(found: McpListing, { deps }: ServiceContext): McpContact {
  const at = deps.clock.now()
  switch (found.type) {
    case 'listed':
      return { state: 'reached', at }
    case 'failed':
      return { state: 'failed', at, detail: found.detail }
    case 'needs-authorization':
      return { state: 'needs-authorization', at, detail: found.detail, ...defined({ scope: found.scope }) }
  }
}

/** Ids are chosen here, because the store may call the plan more than once. */
function planOf(
  server: McpServer,
  { tools }: Extract<McpListing, { type: 'listed' }>,
  { context: { deps }, changes }: { context: ServiceContext; changes: 'hold' | 'approve' },
): PlanTools {
  const ids = tools.map((): ToolId => `tool-${deps.randomness.uuid()}`)
  const now = deps.clock.now()
  return ({ known, isTaken }) =>
    planTools({
      server,
      listed: tools,
      known,
      ids,
      now,
      changes,
      isTaken: (name) => isTaken(name) || deps.tools.find(name) !== undefined,
    })
}

/** Whether secrets may stay: the same origin, or the same command. */
function isSamePlace(one: McpTransport, other: McpTransport): boolean {
  if (one.type === 'stdio') return other.type === 'stdio' && one.command === other.command
  return other.type !== 'stdio' && new URL(one.url).origin === new URL(other.url).origin
}

/** Whether it is reached in the same way: the time that a call may take does not matter for that. */
const isSameConnection = (
  { timeoutSeconds: _, ...one }: McpTransport,
  { timeoutSeconds: __, ...other }: McpTransport,
) => canonicalJson(one) === canonicalJson(other)

function changedSecrets(kept: McpSecrets | undefined, change: McpServerChange['secrets'] = {}): McpSecrets {
  // Secrets that cannot be decrypted cannot be kept in part: a request with all of them repairs the server.
  const given = Object.entries(change).filter(([, value]) => value !== undefined && value !== null)
  const removed = Object.entries(change).filter(([, value]) => value === null)
  const sent = restoreMaskedSecrets(Object.fromEntries(given), kept ?? {})
  const all = { ...kept, ...sent }
  const left: McpSecrets = Object.fromEntries(
    Object.entries(all).filter(([key]) => !removed.some(([name]) => name === key)),
  )
  refuseMasked(left)
  return left
}

function refuseMasked(secrets: McpSecrets): void {
  if (hasMaskedValue(secrets))
    throw new Problem('invalid', 'A secret that begins with "…" is a masked value. Send the whole secret.')
}

/** Secrets that cannot be decrypted are left out here; the first call to the server reports the reason. */
async function toShownServers(servers: McpServer[], mcp: Mcp): Promise<ShownMcpServer[]> {
  const authorizations = await mcp.authorizations.statesOf(servers)
  return servers.map((server, at) => ({
    ...server,
    shownSecrets: maskedSecrets(mcp.secretsOf(server) ?? {}),
    authorization: authorizations[at]!,
  }))
}

export const toShownServer = async (server: McpServer, mcp: Mcp): Promise<ShownMcpServer> =>
  (await toShownServers([server], mcp))[0]!

const isEmpty = (secrets: McpSecrets): boolean => Object.values(secrets).every((value) => value === undefined)

export function refuseAddress(transport: McpTransport, context: ServiceContext): void {
  if (transport.type === 'stdio') {
    if (isOperatorServer(context)) return
    throw new Problem('invalid', 'Only operators can register stdio MCP servers.')
  }
  const fault =
    urlFault(transport.url) ??
    (isOperatorServer(context) ? undefined : context.outbound.addressFault(transport.url, 'public'))
  if (fault) throw new Problem('invalid', `${transport.url} cannot be the address of an MCP server: ${fault}.`)
}

function requireName(name: string): string {
  const trimmed = name.trim()
  if (trimmed === '') throw new Problem('invalid', 'An MCP server needs a name.')
  return trimmed
}

export async function requireServer(id: McpServerId, context: ServiceContext): Promise<McpServer> {
  const server = await context.deps.store.mcpServers.get(context.organizationId, id)
  if (server) return server
  throw notFound(id)
}

const notFound = (id: McpServerId) => new Problem('not-found', `There is no MCP server "${id}".`)

const nameTaken = (name: string) => new Problem('conflict', `An MCP server named "${name}" already exists.`)
