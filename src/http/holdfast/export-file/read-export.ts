import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { z } from 'zod'
import type { AgentSettings } from '../../../core/agent.ts'
import { defined } from '../../../core/defined.ts'
import { closedLength } from '../../../core/history.ts'
import type { OrganizationId } from '../../../core/id.ts'
import { IMPORT_KINDS, type ImportKind } from '../../../core/import.ts'
import type { MessageBody } from '../../../core/message.ts'
import {
  type ImportSource,
  SourceFault,
  type SourceItem,
  type SourceMessage,
  type SourceRequest,
} from '../../../ports/import-source.ts'
import { EXPORT_FORMAT, type ExportLine } from '../../../service/exports/export-organization.ts'

type Items = AsyncGenerator<SourceItem>

/** Reads a file of `holdfast export`. */
export const exportFileSource = (path: string): ImportSource => ({ read: (request) => readExport(path, request) })

async function* readExport(path: string, request: SourceRequest): Items {
  const counts = await countsAtEnd(path)
  for (const [kind, count] of Object.entries(counts)) yield* stated(kind, count)
  yield { type: 'stage', stage: 'Reading the file' }
  const history = newHistory()
  let isDone = false
  for await (const { line, number } of linesOf(path)) {
    request.signal.throwIfAborted()
    if (number === 1) {
      yield { type: 'version', version: versionOf(line, path) }
      continue
    }
    isDone = line.kind === 'end'
    if (request.options.dryRun && line.kind === 'message') continue
    for (const item of history.take(line)) yield item
    const item = itemOf(line, { organizationId: request.organizationId, where: `${path}, line ${number}` })
    if (item) yield item
  }
  yield* history.end()
  if (!isDone)
    throw new SourceFault(`${path} ends early: its last line is missing. What it has was imported. Export again.`)
}

/** The default conversation of an agent is in the line of the agent. */
function* stated(kind: string, count: number): Generator<SourceItem> {
  if (kind === 'agent') yield { type: 'stated', kind: 'conversation', count }
  if ((IMPORT_KINDS as readonly string[]).includes(kind)) yield { type: 'stated', kind: kind as ImportKind, count }
}

const header = z.object({ kind: z.literal('export'), format: z.literal(EXPORT_FORMAT.format), format_version: z.int() })

function versionOf(line: ExportLine, path: string): string {
  const read = header.safeParse(line)
  if (!read.success) throw new SourceFault(`${path} is not an export of Holdfast: its first line says something else.`)
  if (read.data.format_version > EXPORT_FORMAT.format_version)
    throw new SourceFault(
      `${path} was written by a newer Holdfast (format ${read.data.format_version}). Upgrade this one first.`,
    )
  return `${read.data.format} ${read.data.format_version}`
}

const base = z.looseObject({ id: z.string().min(1) })
const texts = z.array(z.string())
const record = z.record(z.string(), z.unknown())
const conversation = base.extend({
  agentId: z.string(),
  isDefault: z.boolean(),
  createdAt: z.number(),
  contextStart: z.int(),
})

/** What each kind must have; all fields are those of the object inside Holdfast. */
const LINES = {
  'mcp-server': base.extend({
    name: z.string(),
    transport: record,
    contact: record,
    secrets: record.optional(),
    secret_names: texts.optional(),
  }),
  tool: base.extend({ name: z.string(), jsonSchema: record, sourceCode: z.string(), tags: texts }),
  block: base.extend({
    label: z.string().min(1),
    value: z.string(),
    limit: z.int().min(1),
    tags: texts,
    metadata: record,
    version: z.int(),
  }),
  agent: base.extend({
    settings: z.looseObject({ notImported: texts.optional() }).optional(),
    secret_names: texts.optional(),
    unreadable_secrets: z.boolean().optional(),
    name: z.string(),
    system: z.string(),
    model: z.string().regex(/^[^/]+\/.+$/s),
    fallback: texts,
    tools: texts,
    createdAt: z.number(),
    updatedAt: z.number(),
    block_ids: texts,
    tags: texts,
    secrets: z.record(z.string(), z.string()).optional(),
    conversation,
  }),
  conversation,
  message: base.extend({
    conversationId: z.string(),
    createdAt: z.number(),
    body: z.looseObject({ role: z.enum(['user', 'system', 'assistant', 'tool', 'approval', 'summary']) }),
  }),
  passage: base.extend({
    agentId: z.string(),
    text: z.string().min(1),
    tags: texts,
    createdAt: z.number(),
    vector: z.object({ model: z.string(), values: z.array(z.number()) }).optional(),
  }),
  kept: base.extend({ of: z.enum(IMPORT_KINDS), reason: z.string(), body: z.unknown() }),
} as const

type LineKind = keyof typeof LINES

const isLineKind = (kind: string): kind is LineKind => Object.hasOwn(LINES, kind)

type ItemOptions = { organizationId: OrganizationId; where: string }

function itemOf(line: ExportLine, { organizationId, where }: ItemOptions): SourceItem | undefined {
  if (line.kind === 'end') return undefined
  if (!isLineKind(line.kind)) throw new SourceFault(`${where}: the kind "${line.kind}" is unknown.`)
  const read = LINES[line.kind].safeParse(line)
  if (!read.success) {
    const [issue] = read.error.issues
    throw new SourceFault(
      `${where}: ${line.kind}.${issue?.path.join('.')}: ${issue?.message}. What came before is imported.`,
    )
  }
  const { kind, ...fields } = read.data as unknown as ExportLine & Record<string, never>
  const own = { ...fields, organizationId }
  switch (line.kind) {
    case 'mcp-server': {
      const {
        secrets = {},
        secret_names = [],
        ...server
      } = own as never as {
        secrets?: object
        secret_names?: string[]
      }
      return {
        type: 'mcp-server',
        server: server as never,
        secrets: secrets as never,
        missingSecrets: secret_names.filter((name) => !Object.hasOwn(secrets, name)),
      }
    }
    case 'tool':
      return { type: 'tool', tool: own as never }
    case 'block':
      return { type: 'block', block: own as never }
    case 'agent': {
      const {
        block_ids,
        tags,
        secrets = {},
        secret_names,
        unreadable_secrets,
        conversation: usual,
        ...agent
      } = own as Record<string, unknown>
      const notes = missingSecrets({ secrets, secret_names, unreadable_secrets } as SecretFields)
      const settings = (agent.settings ?? {}) as AgentSettings
      const noted = { ...settings, notImported: [...(settings.notImported ?? []), ...notes] }
      const { contextStart: __, ...rest } = usual as Record<string, unknown>
      return {
        type: 'agent',
        agent: { ...agent, ...defined({ settings: notes.length > 0 ? noted : undefined }) } as never,
        blockIds: block_ids as string[],
        tags: tags as string[],
        secrets: secrets as Record<string, string>,
        conversation: { ...rest, organizationId, sourceId: rest.id } as never,
      }
    }
    case 'conversation': {
      const { contextStart: _, ...rest } = own as Record<string, unknown>
      return { type: 'conversation', conversation: { ...rest, sourceId: rest.id } as never }
    }
    case 'message':
      return undefined
    case 'passage': {
      const { vector, ...passage } = own as Record<string, unknown>
      return { type: 'passage', passage: passage as never, ...defined({ vector: vector as never }) }
    }
    case 'kept': {
      const { of, id, body, reason } = own as never as { of: ImportKind; id: string; body: unknown; reason: string }
      return { type: 'kept', kind: of, id, body, reason }
    }
  }
}

type SecretFields = { secrets: object; secret_names?: string[]; unreadable_secrets?: boolean }

/** What an agent needs to be told again after the move. */
function missingSecrets({ secrets, secret_names = [], unreadable_secrets }: SecretFields): string[] {
  const names = secret_names.filter((name) => !Object.hasOwn(secrets, name))
  return [
    ...names.map((name) => `secret ${name}: the export left out its value`),
    ...(unreadable_secrets ? ['secrets: they could not be decrypted when they were exported'] : []),
  ]
}

/** The messages of one conversation, in units in which no call is open. */
function newHistory() {
  let current: { id: string; start: number; listStart?: number } | undefined
  let unit: SourceMessage[] = []

  function* end(): Generator<SourceItem> {
    if (!current) return
    if (unit.length > 0) yield { type: 'messages', conversation: current.id, messages: unit, isClosed: true }
    unit = []
    const { id: conversation, ...view } = current
    current = undefined
    yield { type: 'conversation-end', conversation, view }
  }

  return {
    end,
    *take(line: ExportLine): Generator<SourceItem> {
      if (line.kind !== 'message') {
        yield* end()
        const begun = (line.kind === 'agent' ? line.conversation : line.kind === 'conversation' ? line : undefined) as
          | { id: string; contextStart: number; listStart?: number }
          | undefined
        if (begun) current = { id: begun.id, start: begun.contextStart, ...defined({ listStart: begun.listStart }) }
        return
      }
      const read = LINES.message.safeParse(line)
      if (!read.success || !current || read.data.conversationId !== current.id)
        throw new SourceFault(
          `The message ${String(line.id)} is damaged, or not behind its conversation. What came before is imported.`,
        )
      const { id, createdAt, body, runId, stepId } = line as never as SourceMessage
      unit.push({ id, createdAt, body, ...defined({ runId, stepId }) })
      const bodies = unit.map((message) => message.body as MessageBody)
      if (closedLength(bodies) < unit.length) return
      yield { type: 'messages', conversation: current.id, messages: unit, isClosed: true }
      unit = []
    },
  }
}

type NumberedLine = { line: ExportLine; number: number }

/** A line is one object: even a large message fits in memory. */
async function* linesOf(path: string): AsyncGenerator<NumberedLine> {
  let rest: Buffer[] = []
  let number = 0
  const parse = (bytes: Buffer): NumberedLine => {
    number++
    try {
      const line = JSON.parse(bytes.toString('utf8')) as ExportLine
      if (typeof line?.kind === 'string') return { line, number }
    } catch {
      // The sentence below says where.
    }
    throw new SourceFault(`${path}, line ${number}: is not an object of an export. What came before is imported.`)
  }
  try {
    for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
      let from = 0
      for (let at = piece.indexOf(10, from); at >= 0; at = piece.indexOf(10, from)) {
        const bytes = Buffer.concat([...rest, piece.subarray(from, at)])
        rest = []
        from = at + 1
        if (bytes.length > 0) yield parse(bytes)
      }
      rest.push(Buffer.from(piece.subarray(from)))
    }
  } catch (fault) {
    throw readFault(path, fault)
  }
  const bytes = Buffer.concat(rest)
  if (bytes.length > 0) yield parse(bytes)
}

const END_BYTES = 64 * 1024

/** The last line says how much there is. */
async function countsAtEnd(path: string): Promise<Record<string, number>> {
  try {
    const { size } = await stat(path)
    const file = await open(path)
    try {
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(Math.min(size, END_BYTES)),
        0,
        Math.min(size, END_BYTES),
        Math.max(0, size - END_BYTES),
      )
      const last = buffer.subarray(0, bytesRead).toString('utf8').trimEnd().split('\n').at(-1) ?? ''
      const read = z
        .object({ kind: z.literal('end'), counts: z.record(z.string(), z.number()) })
        .safeParse(JSON.parse(last))
      return read.success ? read.data.counts : {}
    } finally {
      await file.close()
    }
  } catch (fault) {
    // A file without an end is read as far as it goes.
    if (fault instanceof SyntaxError) return {}
    throw readFault(path, fault)
  }
}

function readFault(path: string, fault: unknown): unknown {
  const { code, syscall } = fault as NodeJS.ErrnoException
  if (syscall === undefined) return fault
  return new SourceFault(`${path} cannot be read: ${code === 'ENOENT' ? 'there is no such file' : code}.`)
}
