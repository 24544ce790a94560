import type { ChunkStore } from '../ports/chunk-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { SnapshotReader } from '../ports/snapshot.ts'
import type { Store } from '../ports/store.ts'
import { promptStore } from './agent-prompts.ts'
import { recallStore } from './agent-recall.ts'
import { agentStore } from './agents.ts'
import { keyStore } from './api-keys.ts'
import { auditLog } from './audit.ts'
import { blockStore } from './blocks.ts'
import { callbackStore } from './callbacks.ts'
import { conversationStore } from './conversations.ts'
import { cooldownStore } from './cooldowns.ts'
import { credentialStore } from './credentials.ts'
import type { Database } from './database.ts'
import { eventLog } from './events.ts'
import { mcpServerStore } from './mcp-servers.ts'
import { messageStore } from './messages.ts'
import { modelNoteStore } from './model-notes.ts'
import { passageStore } from './passages.ts'
import { peopleStore } from './people.ts'
import { repairStore } from './repairs.ts'
import { runStore } from './runs.ts'
import { snapshotReader } from './snapshot.ts'
import { tagStore } from './tags.ts'
import { toolStore } from './tools.ts'
import { type Standing, workerStore } from './workers.ts'

export type OpenedStore = { store: Store; chunks: ChunkStore; snapshot: SnapshotReader }

export type StoreParts = {
  database: Database
  chunks: ChunkStore
  clock: Clock
  standing: Standing
  onForeignWrite: Store['onForeignWrite']
  close: Store['close']
}

/** The same nouns whatever the database is. */
export function assembleStore(parts: StoreParts): OpenedStore {
  const { database, chunks, clock, standing, onForeignWrite, close } = parts
  const store: Store = {
    agents: agentStore(database),
    conversations: conversationStore(database),
    runs: runStore(database, clock),
    events: eventLog(database),
    messages: messageStore(database),
    workers: workerStore(database, { clock, standing }),
    repairs: repairStore(database, clock),
    credentials: credentialStore(database, clock),
    cooldowns: cooldownStore(database),
    modelNotes: modelNoteStore(database),
    blocks: blockStore(database),
    tools: toolStore(database),
    mcpServers: mcpServerStore(database),
    tags: tagStore(database),
    passages: passageStore(database, clock),
    prompts: promptStore(database),
    recall: recallStore(database, clock),
    people: peopleStore(database),
    keys: keyStore(database),
    audit: auditLog(database),
    callbacks: callbackStore(database),
    onForeignWrite,
    close,
  }
  return { store, chunks, snapshot: snapshotReader(database, clock) }
}
