import { cleanText } from '../../core/block.ts'
import { defined } from '../../core/defined.ts'
import type { AgentId, ConversationId, MessageId } from '../../core/id.ts'
import type { ImportObject } from '../../core/import.ts'
import { NO_RUN } from '../../core/message.ts'
import type { Passage } from '../../core/passage.ts'
import type { SourceItem, SourceMessage } from '../../ports/import-source.ts'
import type { KnownObject, PlacedMessage } from '../../ports/import-store.ts'
import { idHere, imported, type PlacerDeps } from './object-rows.ts'

type MessagesItem = Extract<SourceItem, { type: 'messages' }>
type PassageItem = Extract<SourceItem, { type: 'passage' }>

/** Rows of one transaction. More are not faster, and one is written in a few milliseconds. */
const AT_ONCE = 256

const HIDDEN = 'The old server has it in the context of its model and does not list it among the messages.'

type Owner = { id: ConversationId; agentId: AgentId }

type MessagePlacerDeps = PlacerDeps & {
  /** A conversation of the source, here. */
  here(conversation: string): Owner | undefined
  /** Writes the rows of objects that are not imported: the cursor must not move past one without a row. */
  flushRows(): Promise<void>
  /** The id at the source of a conversation here. */
  sourceOf(conversation: ConversationId): string | undefined
}

/** Messages and passages are many: they are stored in batches, each of one conversation or one agent. */
export function newMessagePlacer({ lease, context, place, here, sourceOf, flushRows }: MessagePlacerDeps) {
  const { store, randomness } = context.deps
  let conversation = ''
  let units: MessagesItem[] = []
  let waiting = 0
  let hasPlaced = false
  let agent: AgentId | undefined
  let passages: PassageItem[] = []

  async function take(item: MessagesItem): Promise<void> {
    if (item.conversation !== conversation) {
      await flushMessages()
      conversation = item.conversation
      hasPlaced = false
    }
    units.push(item)
    waiting += item.messages.length
    if (waiting >= AT_ONCE) await flushMessages()
  }

  async function flushMessages(): Promise<void> {
    if (units.length === 0) return
    const batch = units
    units = []
    waiting = 0
    const owner = here(conversation)
    const ids = batch.flatMap(({ messages }) => messages.flatMap(idsOf))
    const known = await store.imports.known(lease, 'message', ids, conversation)
    if (!owner) {
      const objects = [...known]
        .filter(([, { state }]) => state !== 'known')
        .map(([id]) => leftOut(id, 'Its conversation is not here.'))
      if (objects.length > 0) await place({ type: 'objects', objects })
      return
    }
    const taken = [...known].filter(([, { state }]) => state === 'taken').map(([id]) => id)
    const shared = await sharedAmong(taken)
    const messages: PlacedMessage[] = []
    const objects: ImportObject[] = []
    await flushRows()
    for (const unit of batch) {
      const placed = placeUnit(unit, { known, shared, owner })
      messages.push(...placed.messages)
      objects.push(...placed.objects)
      // A page may repeat messages of this batch.
      for (const object of placed.objects) known.set(object.sourceId, { state: 'known', object })
    }
    const last = batch
      .filter(({ isClosed }) => isClosed)
      .at(-1)
      ?.messages.at(-1)
    const to = last && (last.alsoIds?.at(-1) ?? last.id)
    if (objects.length === 0) return
    const at = { ...owner, organizationId: context.organizationId }
    await place({
      type: 'messages',
      conversation: at,
      messages,
      objects,
      ...defined({ cursor: to ? { conversation, to } : undefined }),
    })
    hasPlaced ||= messages.length > 0
  }

  /** Of ids that are taken: those of this import's messages in other conversations, which a fork shares. */
  async function sharedAmong(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const shared = new Set<string>()
    for (const id of ids) {
      const found = await store.messages.get(context.organizationId, id as MessageId)
      if (found && (await isImported(found.id, found.conversationId))) shared.add(id)
    }
    return shared
  }

  async function isImported(id: MessageId, conversationId: ConversationId): Promise<boolean> {
    const source = sourceOf(conversationId)
    if (source === undefined) return false
    return (await store.imports.known(lease, 'message', [id], source)).get(id)?.state === 'known'
  }

  type UnitState = { known: ReadonlyMap<string, KnownObject>; shared: ReadonlySet<string>; owner: Owner }

  /** An answer and its results are stored together, so that no call is open in between. */
  function placeUnit({ messages }: MessagesItem, { known, shared, owner }: UnitState) {
    const isKnown = ({ id }: SourceMessage) => id !== '' && known.get(id)?.state === 'known'
    const placed: PlacedMessage[] = []
    const objects: ImportObject[] = []
    if (messages.length > 1 && messages.some(isKnown)) {
      // The call was closed when this conversation was imported before its result existed.
      for (const id of messages.flatMap(idsOf))
        if (known.get(id)?.state !== 'known')
          objects.push(leftOut(id, 'Its call was closed by an earlier import, before this result existed.'))
      return { messages: placed, objects }
    }
    for (const message of messages) {
      if (isKnown(message)) continue
      const { id, reason, copyOf } = messageIdHere(message, { known, shared })
      const { body, createdAt, runId = NO_RUN, stepId } = message
      placed.push({ id, runId, body, createdAt, ...defined({ copyOf, stepId }) })
      for (const sourceId of idsOf(message))
        objects.push(
          imported('message', sourceId, { targetId: id, parent: conversation, ownerId: owner.agentId, reason }),
        )
    }
    return { messages: placed, objects: objects.map((object) => ({ ...object, parent: conversation })) }
  }

  function messageIdHere(
    { id: sourceId }: SourceMessage,
    { known, shared }: Omit<UnitState, 'owner'>,
  ): { id: MessageId; reason?: string; copyOf?: MessageId } {
    if (sourceId === '') return { id: `message-${randomness.uuid()}` as MessageId }
    if (shared.has(sourceId)) return { id: sourceId as MessageId, copyOf: sourceId as MessageId }
    return idHere('message', sourceId, { state: known.get(sourceId)?.state ?? 'free', context })
  }

  const leftOut = (sourceId: string, reason: string): ImportObject => ({
    kind: 'message',
    sourceId,
    parent: conversation,
    outcome: 'left-out',
    reason,
  })

  async function end({ conversation: ended, view }: Extract<SourceItem, { type: 'conversation-end' }>): Promise<void> {
    await flushMessages()
    const owner = here(ended)
    if (!owner || view === 'all') return
    const isNew = conversation === ended && hasPlaced
    if ('start' in view) {
      if (isNew) await store.imports.setStart(lease, owner.id, view)
      return
    }
    await flushRows()
    const known = await store.imports.known(lease, 'message', view.inView, ended)
    if (isNew) {
      const targets = [...known.values()].flatMap((one) => (one.state === 'known' ? (one.object.targetId ?? []) : []))
      await store.imports.setView(lease, owner.id, targets as MessageId[])
    }
    if (view.isWhole)
      await nameHidden(
        ended,
        [...known].filter(([, { state }]) => state !== 'known'),
      )
  }

  /** The model saw these, and the source lists none of them. A row names each, so that its absence is no riddle later. */
  async function nameHidden(parent: string, hidden: [string, KnownObject][]): Promise<void> {
    if (hidden.length === 0) return
    const objects = hidden.map(([id]) => ({ ...leftOut(id, HIDDEN), parent }))
    await place({ type: 'objects', objects })
  }

  async function takePassage(item: PassageItem, owner: AgentId | undefined): Promise<void> {
    if (!owner) {
      const reason = `Its agent ${item.passage.agentId} is not here.`
      const { id: sourceId } = item.passage
      if ((await store.imports.known(lease, 'passage', [sourceId])).get(sourceId)?.state === 'known') return
      return place({
        type: 'objects',
        objects: [{ kind: 'passage', sourceId, parent: '', outcome: 'left-out', reason }],
      })
    }
    if (owner !== agent) await flushPassages()
    agent = owner
    passages.push(item)
    if (passages.length >= AT_ONCE) await flushPassages()
  }

  async function flushPassages(): Promise<void> {
    if (passages.length === 0 || !agent) return
    const batch = new Map(passages.map((item) => [item.passage.id as string, item]))
    passages = []
    const known = await store.imports.known(lease, 'passage', [...batch.keys()])
    const stored: (Passage & { vector?: { model: string; values: number[] } })[] = []
    const objects: ImportObject[] = []
    for (const [sourceId, { passage, vector }] of batch) {
      const { state } = known.get(sourceId)!
      if (state === 'known') continue
      const { id, reason } = idHere('passage', sourceId, { state, context })
      const text = cleanText(passage.text)
      stored.push({
        ...passage,
        id,
        text,
        agentId: agent,
        organizationId: context.organizationId,
        ...defined({ vector }),
      })
      objects.push(imported('passage', sourceId, { targetId: id, ownerId: agent, reason }))
    }
    if (objects.length > 0) await place({ type: 'passages', passages: stored, objects })
  }

  return {
    take,
    end,
    takePassage,
    async flush() {
      await flushMessages()
      await flushPassages()
    },
  }
}

const idsOf = ({ id, alsoIds = [] }: SourceMessage): string[] => (id === '' ? [] : [id, ...alsoIds])
