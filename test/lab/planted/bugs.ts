import { CORE_BUGS } from './core-bugs.ts'
import { ENGINE_BUGS } from './engine-bugs.ts'
import { FEED_BUGS } from './feed-bugs.ts'
import { GATEWAY_BUGS } from './gateway-bugs.ts'
import { IMPORT_BUGS } from './import-bugs.ts'
import { OPENAI_BUGS } from './openai-bugs.ts'
import type { PlantedBug } from './plant.ts'
import { RECOVERY_BUGS } from './recovery-bugs.ts'
import { SCHEDULE_BUGS } from './schedule-bugs.ts'
import { SOURCE_BUGS } from './source-bugs.ts'
import { STORAGE_BUGS } from './storage-bugs.ts'
import { TENANT_BUGS } from './tenant-bugs.ts'
import { WEBHOOK_BUGS } from './webhook-bugs.ts'

/** Every planted bug. Each must be found by the simulator within 400 seeds. */
export const PLANTED_BUGS: readonly PlantedBug[] = [
  ...CORE_BUGS,
  ...ENGINE_BUGS,
  ...RECOVERY_BUGS,
  ...SOURCE_BUGS,
  ...STORAGE_BUGS,
  ...IMPORT_BUGS,
  ...GATEWAY_BUGS,
  ...TENANT_BUGS,
  ...SCHEDULE_BUGS,
  ...WEBHOOK_BUGS,
  ...OPENAI_BUGS,
  ...FEED_BUGS,
]
