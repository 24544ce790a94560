import type { ConversationId, MessageId } from '../../core/id.ts'
import type { ImportObject } from '../../core/import.ts'
import { NO_RUN } from '../../core/message.ts'
import type { PlacedMessage, Placement } from '../../ports/import-store.ts'
import { setTags } from '../agents/agent-tags.ts'
import { insertAgentRow } from '../agents/agents.ts'
import { insertConversation } from '../conversations/conversations.ts'
import { takeFreePositions } from '../conversations/messages.ts'
import { insertMany } from '../database/insert-many.ts'
import { type Executor, statement } from '../database/statement.ts'
import { attachBlocks } from '../memory/agent-blocks.ts'
import { insertBlock } from '../memory/blocks.ts'
import { insertPassages } from '../memory/imported-passages.ts'
import { IMPORT_OBJECT } from '../rows/import-row.ts'
import { messageRowOf, NEW_MESSAGE_COLUMNS } from '../rows/message-row.ts'
import { insertMcpServer } from '../tools/mcp-servers.ts'
import { insertTool } from '../tools/tools.ts'

/** Inserts the objects and the rows that say so, in the transaction of the caller. */
export async function placeObjects(db: Executor, importNumber: number, placement: Placement): Promise<void> {
  await insertRows(db, placement)
  await writeObjects(db, importNumber, placement.objects)
  if (placement.type === 'messages' && placement.cursor)
    await db.run(moveCursor, {
      import: importNumber,
      conversation: placement.cursor.conversation,
      to: placement.cursor.to,
    })
}

async function insertRows(db: Executor, placement: Placement): Promise<unknown> {
  switch (placement.type) {
    case 'objects':
      return undefined
    case 'tool':
      return insertTool(db, placement.tool)
    case 'mcp-server':
      return insertMcpServer(db, placement.server)
    case 'block':
      return insertBlock(db, placement.block)
    case 'agent': {
      const { agent, conversation, blockIds, tags } = placement
      await insertAgentRow(db, agent)
      await insertConversation(db, conversation)
      await attachBlocks(db, agent, blockIds)
      return setTags(db, agent, tags)
    }
    case 'conversation':
      return insertConversation(db, placement.conversation)
    case 'messages':
      return appendMessages(db, placement)
    case 'passages':
      return insertPassages(db, placement.passages)
  }
}

type MessagesPlacement = Extract<Placement, { type: 'messages' }>

async function appendMessages(db: Executor, { conversation, messages }: MessagesPlacement): Promise<void> {
  if (messages.length === 0) return
  const { id, organizationId, agentId } = conversation
  const at = messages.reduce((latest, { createdAt }) => Math.max(latest, createdAt), 0)
  const first = await takeFreePositions(db, { id, count: messages.length, at })
  const owner = { number: 0, id: NO_RUN, organization_id: organizationId, agent_id: agentId, conversation_id: id }
  const rows = messages.map((message, index) => ({
    ...messageRowOf(owner, { ...message, id: rowIdOf(message, id, first + index) }),
    position: first + index,
    copy_of: message.copyOf ?? null,
  }))
  await insertMessageRows(db, rows)
}

/** A message that a fork shares has a row of its own, under an id that follows from its position. */
const rowIdOf = ({ id, copyOf }: PlacedMessage, conversation: ConversationId, position: number): MessageId =>
  copyOf === undefined ? id : (`${conversation} ${position}` as MessageId)

const insertMessageRows = insertMany('messages', [...NEW_MESSAGE_COLUMNS, 'position', 'copy_of'])

/** A row that exists keeps its key and gets the new outcome: an object that failed may be imported by a later pass. */
async function writeObjects(db: Executor, importNumber: number, objects: readonly ImportObject[]): Promise<void> {
  const rows = objects.map((object) => ({ import_number: importNumber, ...IMPORT_OBJECT.rowOf(object) }))
  for (const { import_number, kind, parent, source_id } of rows.filter(({ kind }) => kind !== 'message'))
    await db.run(removeObject, { import_number, kind, parent, source_id })
  await insertObjectRows(db, rows)
}

const insertObjectRows = insertMany('import_objects', ['import_number', ...IMPORT_OBJECT.columns])

type ObjectKey = Pick<ImportObject, 'kind' | 'parent'> & { import_number: number; source_id: string }

const removeObject = statement<ObjectKey>()((db, p) =>
  db
    .deleteFrom('import_objects')
    .where('import_number', '=', p('import_number'))
    .where('kind', '=', p('kind'))
    .where('parent', '=', p('parent'))
    .where('source_id', '=', p('source_id')),
)

const moveCursor = statement<{ import: number; conversation: string; to: string }>()((db, p) =>
  db
    .updateTable('import_objects')
    .set({ read_up_to: p('to') })
    .where('import_number', '=', p('import'))
    .where('kind', '=', 'conversation')
    .where('source_id', '=', p('conversation')),
)
