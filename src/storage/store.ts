import type { ChunkStore } from '../ports/chunk-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { SnapshotReader } from '../ports/snapshot.ts'
import type { Store } from '../ports/store.ts'
import { agentStore } from './agents/agents.ts'
import { tagStore } from './agents/tags.ts'
import { changeStore } from './changes/changes.ts'
import { conversationStore } from './conversations/conversations.ts'
import { messageSearchStore } from './conversations/message-search-store.ts'
import { messageStore } from './conversations/messages.ts'
import { promptStore } from './conversations/prompts.ts'
import { cooldownStore } from './credentials/cooldowns.ts'
import { credentialStore } from './credentials/credentials.ts'
import { modelNoteStore } from './credentials/model-notes.ts'
import type { Database } from './database/database.ts'
import { gatewayStore } from './gateway/gateway.ts'
import { homeId } from './home-id.ts'
import { hookStore } from './hooks/hooks.ts'
import { idStore } from './ids.ts'
import { importStore } from './imports/imports.ts'
import { blockStore } from './memory/blocks.ts'
import { passageStore } from './memory/passages.ts'
import { toolWriteStore } from './memory/tool-writes.ts'
import { openaiStore } from './openai/openai.ts'
import { keyStore } from './people/api-keys.ts'
import { auditLog, hasEntry, insertEntry } from './people/audit.ts'
import { withAuditedWrites } from './people/audited-writes.ts'
import { erasureStore } from './people/erasure.ts'
import { peopleStore } from './people/people.ts'
import { webhookSecretStore } from './people/webhook-secrets.ts'
import { eventLog } from './runs/events.ts'
import { repairStore } from './runs/repairs.ts'
import { runStore } from './runs/runs.ts'
import { sessionStore } from './runs/sessions.ts'
import { shareStore } from './runs/shares.ts'
import { type StoreOwnership, workerStore } from './runs/workers.ts'
import { scheduleStore } from './schedules/schedules.ts'
import { snapshotReader } from './snapshot.ts'
import { mcpServerStore } from './tools/mcp-servers.ts'
import { toolStore } from './tools/tools.ts'
import { webhookStore } from './webhooks/webhooks.ts'

export type OpenedStore = { store: Store; chunks: ChunkStore; snapshot: SnapshotReader }

type StoreDeps = {
  database: Database
  chunks: ChunkStore
  clock: Clock
  ownership: StoreOwnership
  onForeignWrite: Store['onForeignWrite']
  close: Store['close']
  /** Empties the write-ahead log; absent where there is none. */
  emptyLog?: (() => void) | undefined
}

/** Assembles the store from its parts, for either database. */
export function assembleStore(deps: StoreDeps): OpenedStore {
  const { database: plain, chunks, clock, ownership, onForeignWrite, close, emptyLog } = deps
  const database = withAuditedWrites(plain, { insertEntry, hasEntry })
  const store: Store = {
    agents: agentStore(database),
    conversations: conversationStore(database),
    runs: runStore(database, clock),
    sessions: sessionStore(database),
    events: eventLog(database),
    messages: messageStore(database),
    workers: workerStore(database, { clock, ownership }),
    repairs: repairStore(database, clock),
    credentials: credentialStore(database, clock),
    cooldowns: cooldownStore(database),
    modelNotes: modelNoteStore(database),
    blocks: blockStore(database),
    tools: toolStore(database),
    mcpServers: mcpServerStore(database),
    tags: tagStore(database),
    toolWrites: toolWriteStore(database),
    passages: passageStore(database, clock),
    prompts: promptStore(database),
    messageSearch: messageSearchStore(database, clock),
    people: peopleStore(database),
    shares: shareStore(database),
    erasure: erasureStore(database, emptyLog),
    keys: keyStore(database),
    webhookSecrets: webhookSecretStore(database),
    audit: auditLog(plain),
    webhooks: webhookStore(database),
    hooks: hookStore(database),
    changes: changeStore(database),
    schedules: scheduleStore(database),
    openai: openaiStore(database),
    homeId: () => homeId(database),
    ids: idStore(database),
    imports: importStore(database, clock),
    gateway: gatewayStore(database, clock),
    onForeignWrite,
    close,
  }
  return { store, chunks, snapshot: snapshotReader(database, clock) }
}
