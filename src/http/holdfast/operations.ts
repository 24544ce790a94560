import { LETTA_ERRORS } from '../letta/errors.ts'
import type { Surface } from '../surface.ts'
import { mcpOperations } from './agents-as-mcp.ts'
import { approvalOperations } from './approvals.ts'
import { auditOperations } from './audit.ts'
import { blockVersionOperations } from './block-versions.ts'
import { cacheOperations } from './cache.ts'
import { changeOperations } from './changes.ts'
import { commandOperations } from './commands.ts'
import { consoleOperations } from './console.ts'
import { gatewayOperations } from './gateway.ts'
import { healthOperations } from './health.ts'
import { hookOperations } from './hooks.ts'
import { importOperations } from './imports.ts'
import { keyOperations } from './keys.ts'
import { limitOperations } from './limits.ts'
import { mcpAuthorizationOperations } from './mcp-authorization.ts'
import { modelNoteOperations } from './model-notes.ts'
import { overviewOperations } from './overviews.ts'
import { peopleOperations } from './people.ts'
import { scheduleOperations } from './schedules.ts'
import { serverOperations } from './server.ts'
import { sessionOperations } from './session.ts'
import { webhookSecretOperations } from './webhook-secret.ts'
import { webhookOperations } from './webhooks.ts'
import { workspaceOperations } from './workspaces.ts'

/** Operations that the official client does not have. Errors have the same format, so that one client can read both. */
export const HOLDFAST: Surface = {
  errors: LETTA_ERRORS,
  notServed: [],
  operations: [
    ...consoleOperations,
    ...serverOperations,
    ...approvalOperations,
    ...changeOperations,
    ...commandOperations,
    ...overviewOperations,
    ...healthOperations,
    ...keyOperations,
    ...peopleOperations,
    ...limitOperations,
    ...mcpOperations,
    ...mcpAuthorizationOperations,
    ...auditOperations,
    ...webhookSecretOperations,
    ...webhookOperations,
    ...hookOperations,
    ...sessionOperations,
    ...cacheOperations,
    ...modelNoteOperations,
    ...blockVersionOperations,
    ...scheduleOperations,
    ...workspaceOperations,
    ...importOperations,
    ...gatewayOperations,
  ],
}
