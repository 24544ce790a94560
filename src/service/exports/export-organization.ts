import type { Agent, Conversation } from '../../core/agent.ts'
import { defined } from '../../core/defined.ts'
import { closedLength } from '../../core/history.ts'
import { KEPT_KINDS } from '../../core/import.ts'
import type { Passage } from '../../core/passage.ts'
import { blocksOf } from '../agents/agent-blocks.ts'
import { secretsOf } from '../agents/agent-secrets.ts'
import { tagsOf } from '../agents/agents.ts'
import type { ServiceContext } from '../service-context.ts'

type ExportOptions = { withSecrets: boolean; version: string }

/** A line of an export: docs/export-format.md has the fields of each kind. */
export type ExportLine = { kind: string; [field: string]: unknown }

export const EXPORT_FORMAT = { format: 'holdfast-export', format_version: 1 } as const

const PAGE = 200
const MESSAGE_PAGE = 1_000

type Lines = AsyncGenerator<ExportLine>

/**
 * Everything of an organization, one object a line, in an order in which it can be read back: what an object refers to
 * comes before it. Read in pages, so it may be larger than memory, and a change meanwhile may be in it or not.
 */
export async function* exportLines(options: ExportOptions, context: ServiceContext): Lines {
  const counts: Record<string, number> = {}
  const { organizationId, deps } = context
  yield {
    kind: 'export',
    ...EXPORT_FORMAT,
    holdfast_version: options.version,
    organization_id: organizationId,
    exported_at: new Date(deps.clock.now()).toISOString(),
    with_secrets: options.withSecrets,
  }
  for await (const line of objectsOf(options, context)) {
    counts[line.kind] = (counts[line.kind] ?? 0) + 1
    yield line
  }
  yield { kind: 'end', counts }
}

async function* objectsOf(options: ExportOptions, context: ServiceContext): Lines {
  const { store } = context.deps
  for (const { organizationId: _, sealed, ...server } of await store.mcpServers.list(context.organizationId)) {
    const secrets = context.deps.mcp.secretsOf({ ...server, organizationId: _, ...defined({ sealed }) }) ?? {}
    yield {
      kind: 'mcp-server',
      ...server,
      ...shownSecrets(secrets, options),
    }
  }
  for (const { organizationId: _, ...tool } of await store.tools.all(context.organizationId))
    yield { kind: 'tool', ...tool }
  yield* blocks(context)
  for await (const agent of agentsOf(context)) yield* oneAgent(agent, options, context)
  yield* keptObjects(context)
}

async function* blocks({ deps, organizationId }: ServiceContext): Lines {
  for (let after: string | undefined; ; ) {
    const page = await deps.store.blocks.list(organizationId, {}, { limit: PAGE, order: 'asc', ...defined({ after }) })
    for (const { organizationId: _, ...block } of page ?? []) yield { kind: 'block', ...block }
    after = page?.at(-1)?.id
    if (after === undefined) return
  }
}

async function* agentsOf({ deps, organizationId }: ServiceContext): AsyncGenerator<Agent> {
  for (let after: string | undefined; ; ) {
    const page = await deps.store.agents.search(
      organizationId,
      {},
      { limit: PAGE, order: 'asc', ...defined({ after }) },
    )
    yield* page ?? []
    after = page?.at(-1)?.id
    if (after === undefined) return
  }
}

async function* oneAgent(agent: Agent, options: ExportOptions, context: ServiceContext): Lines {
  const { store } = context.deps
  const { organizationId: _, sealedSecrets: __, ...fields } = agent
  const opened = secretsOf(agent, context)
  const secrets = opened === 'unreadable' ? {} : opened
  const conversations = (await store.conversations.list(context.organizationId, agent.id)).toReversed()
  const usual = conversations.find(({ isDefault }) => isDefault)
  if (!usual) return
  yield {
    kind: 'agent',
    ...fields,
    block_ids: (await blocksOf(agent, context)).map(({ id }) => id),
    tags: await tagsOf(agent, context),
    ...shownSecrets(secrets, options),
    ...defined({ unreadable_secrets: opened === 'unreadable' ? true : undefined }),
    conversation: conversationLine(usual),
  }
  yield* messagesOf(usual, context)
  for (const conversation of conversations.filter(({ isDefault }) => !isDefault)) {
    yield { kind: 'conversation', ...conversationLine(conversation) }
    yield* messagesOf(conversation, context)
  }
  yield* passagesOf(agent, context)
}

/** Names only, unless the caller asked for the values. */
const shownSecrets = (secrets: object, { withSecrets }: ExportOptions) =>
  defined({
    secrets: withSecrets ? secrets : undefined,
    secret_names: withSecrets ? undefined : Object.keys(secrets),
  })

const conversationLine = ({ organizationId: _, nextPosition: __, ...conversation }: Conversation) => conversation

/** Up to the last message at which no call waits for its result. */
async function* messagesOf({ id }: Conversation, { deps, organizationId }: ServiceContext): Lines {
  for (let after = -1; ; ) {
    const page = await deps.store.messages.list(organizationId, id, {
      limit: MESSAGE_PAGE,
      take: 'oldest',
      after,
      cleared: 'too',
    })
    const closed = closedLength(page.map(({ body }) => body))
    const next = page.slice(0, closed)
    for (const { position: _, ...message } of next) yield { kind: 'message', ...message }
    const last = next.at(-1)
    if (!last) return
    after = last.position
  }
}

async function* passagesOf(agent: Agent, { deps, organizationId }: ServiceContext): Lines {
  const { passages } = deps.store
  for (let after: string | undefined; ; ) {
    const page =
      (await passages.list(organizationId, agent.id, { limit: PAGE, order: 'asc', ...defined({ after }) })) ?? []
    const vectors = await passages.vectorsOf(page.map(({ id }) => id))
    for (const passage of page) yield passageLine(passage, vectors.get(passage.id))
    after = page.at(-1)?.id
    if (after === undefined) return
  }
}

const passageLine = (
  { organizationId: _, ...passage }: Passage,
  vector: { model: string; values: number[] } | undefined,
) => ({
  kind: 'passage',
  ...passage,
  ...defined({ vector }),
})

/** What earlier imports keep for a later version. */
async function* keptObjects({ deps, organizationId }: ServiceContext): Lines {
  for (const { id } of await deps.store.imports.list(organizationId))
    for (const of of KEPT_KINDS)
      for (let after = ''; ; ) {
        const page = await deps.store.imports.kept(organizationId, id, { kind: of, after, limit: PAGE })
        for (const { sourceId, reason, body } of page)
          yield {
            kind: 'kept',
            of,
            id: sourceId,
            reason: reason ?? '',
            body: body === undefined ? null : JSON.parse(body),
          }
        const last = page.at(-1)
        if (!last) break
        after = last.sourceId
      }
}
