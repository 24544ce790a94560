import { uuidFrom } from '../../../core/id.ts'
import type { ImportKind } from '../../../core/import.ts'
import type { SourceItem, SourceRequest } from '../../../ports/import-source.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import { textOf } from './agent.ts'
import { leftOut, readOldMcpServer } from './objects.ts'
import { type Listed, listPages } from './pages.ts'
import type { OldServer } from './requests.ts'

/** The default of the old server is 50. Larger pages are not faster: it loads whole objects. */
export const OBJECTS = 50

export type Items = AsyncGenerator<SourceItem>

export type Reading = {
  server: OldServer
  request: SourceRequest
  context: ServiceContext
  url: string
  /** Ids of MCP servers, by name. */
  servers: Map<string, string>
  /** Tools and blocks that were read: agents show theirs again. */
  seen: Set<string>
}

/** Reads a list whose objects stand for themselves. The second object with an id is named and left out. */
export async function* eachOf(
  reading: Reading,
  path: string,
  kind: ImportKind,
  read: (item: Listed) => SourceItem | undefined,
): Items {
  const { server } = reading
  const seen = new Map<string, string>()
  for await (const page of listPages(server, path, {
    limit: OBJECTS,
    query: path.includes('files') ? { include_content: 'true' } : {},
  })) {
    if (page.type === 'broken') {
      yield { type: 'failed', kind, id: `after ${page.after ?? 'the beginning'} of ${path}`, reason: page.reason }
      return
    }
    for (const item of page.items) {
      // Lists of objects are short, and their texts are compared by length and beginning only.
      const text = JSON.stringify(item)
      const before = seen.get(item.id)
      seen.set(item.id, `${text.length} ${text.slice(0, 200)}`)
      if (before === undefined) {
        isNew(item, reading)
        const one = read(item)
        if (one) yield one
      } else if (before !== seen.get(item.id))
        yield leftOut(
          kind,
          `${item.id} (second)`,
          `The old server has two objects with the id ${item.id}; the first one was imported.`,
        )
    }
  }
}

/** Remembers the object. False: it was read before, from another list. */
export function isNew({ id }: Listed, { seen }: Reading): boolean {
  const isFirst = !seen.has(id)
  seen.add(id)
  return isFirst
}

export async function* readProviders(reading: Reading): Items {
  const configured = new Set(reading.context.directory.list().map(({ name }) => name))
  yield* eachOf(reading, '/v1/providers/', 'provider', ({ id, name }) =>
    leftOut(
      'provider',
      id,
      configured.has(textOf(name))
        ? `${textOf(name)} is configured here.`
        : `${textOf(name)}: keys are not moved. Set it up with \`holdfast auth add ${textOf(name)}\`.`,
    ),
  )
}

/** Before 0.11, MCP servers had names and no ids. */
export async function* readMcpServers(reading: Reading): Items {
  const { server, context, servers } = reading
  for (const path of ['/v1/mcp-servers/', '/v1/tools/mcp/servers']) {
    const answer = await server.get(path)
    if ('reason' in answer) yield { type: 'failed', kind: 'mcp-server', id: path, reason: answer.reason }
    if (answer.type !== 'json') continue
    for (const found of serversIn(answer.value, context)) {
      servers.set(textOf(found.server_name), found.id)
      yield readOldMcpServer(found, context)
    }
    return
  }
}

function serversIn(value: unknown, { deps }: ServiceContext): Listed[] {
  const all = Array.isArray(value) ? value : Object.values((value ?? {}) as object)
  return all.flatMap((one: Record<string, unknown>): Listed[] => {
    if (typeof one?.server_name !== 'string') return []
    const made = `mcp_server-${uuidFrom(deps.digest(`mcp server\n${one.server_name}`))}`
    return [{ ...one, id: typeof one.id === 'string' ? one.id : made }]
  })
}

const NO_HOME: Partial<Record<ImportKind, string>> = {
  folder: 'Holdfast has no folders yet. It is kept with the import.',
  file: 'Holdfast has no files yet. It is kept with the import, with its content.',
  'file-passage': 'Holdfast has no files yet. It is kept with the import.',
  archive: 'Holdfast has no archives that agents share yet. It is kept with the import.',
  identity: 'Holdfast has no identities yet. It is kept with the import.',
  group: 'Holdfast has no groups of agents yet. It is kept with the import.',
}

/** Fetched with the rest, so that the old server is not needed when a version can place them. */
export async function* readKept(reading: Reading): Items {
  if (reading.request.options.agents) return
  const folders: string[] = []
  const keep = (kind: ImportKind) => (item: Listed) => {
    if (kind === 'folder') folders.push(item.id)
    return { type: 'kept' as const, kind, id: item.id, body: item, reason: NO_HOME[kind]! }
  }
  yield* eachOf(reading, '/v1/folders/', 'folder', keep('folder'))
  let root = 'folders'
  if (folders.length === 0) {
    root = 'sources'
    yield* eachOf(reading, '/v1/sources/', 'folder', keep('folder'))
  }
  for (const folder of folders) {
    yield* eachOf(reading, `/v1/${root}/${folder}/files`, 'file', keep('file'))
    yield* eachOf(reading, `/v1/${root}/${folder}/passages`, 'file-passage', keep('file-passage'))
  }
  yield* eachOf(reading, '/v1/archives/', 'archive', keep('archive'))
  yield* eachOf(reading, '/v1/identities/', 'identity', keep('identity'))
  yield* eachOf(reading, '/v1/groups/', 'group', keep('group'))
}
