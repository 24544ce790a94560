import { first } from './001-first.ts'
import { lateOriginals } from './002-late-originals.ts'
import { modelNotesWithAge } from './003-model-notes.ts'
import { sessions } from './004-sessions.ts'
import { changes } from './005-changes.ts'
import { approvals } from './006-approvals.ts'
import { shares } from './007-shares.ts'
import { homeIdentity } from './008-home-id.ts'
import { auditChain } from './009-audit-chain.ts'
import { toolsScope } from './010-tools-scope.ts'
import { imports } from './011-imports.ts'
import { gateway } from './012-gateway.ts'
import { webhookSecrets } from './013-webhook-secrets.ts'
import { gatewayChanges } from './014-gateway-changes.ts'
import { erasure } from './015-erasure.ts'
import { schedules } from './016-schedules.ts'
import { blockVersions } from './017-block-versions.ts'
import { gatewayPeople } from './018-gateway-people.ts'
import { webhooks } from './019-webhooks.ts'
import { scheduleChanges } from './020-schedule-changes.ts'
import { openai } from './021-openai.ts'
import { hooks } from './022-hooks.ts'
import { scheduleHistory } from './023-schedule-history.ts'
import { gatewayFiles } from './024-gateway-files.ts'
import { storedBytes } from './025-stored-bytes.ts'
import { heartbeats } from './026-heartbeats.ts'
import { attachedBlocks } from './027-attached-blocks.ts'
import { firstOfChunks } from './chunks-001-first.ts'
import type { Migration } from './migration.ts'

/** The chunk log has its own migrations, because on SQLite it is another file. */
export type Track = 'store' | 'chunks'

/**
 * In order. Add a new one at the end, here or, if it is long, in its own file. A column, for example: `{ number: 2,
 * name: 'block-color', digest: '…', up: () => ['alter table blocks add column color text'] }`.
 * test/storage/migrations.test.ts prints its digest.
 */
export const MIGRATIONS: Record<Track, readonly Migration[]> = {
  store: [
    first,
    lateOriginals,
    modelNotesWithAge,
    sessions,
    changes,
    approvals,
    shares,
    homeIdentity,
    auditChain,
    toolsScope,
    imports,
    gateway,
    webhookSecrets,
    gatewayChanges,
    erasure,
    schedules,
    blockVersions,
    gatewayPeople,
    webhooks,
    scheduleChanges,
    openai,
    hooks,
    scheduleHistory,
    gatewayFiles,
    storedBytes,
    heartbeats,
    attachedBlocks,
  ],
  chunks: [firstOfChunks],
}
