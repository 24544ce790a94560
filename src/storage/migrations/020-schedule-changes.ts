import { announcing } from './005-changes.ts'
import type { Migration } from './migration.ts'

const SCHEDULES = {
  table: 'schedules',
  kind: 'schedule',
  agent: 'agent_id',
  conversation: 'conversation_id',
  changed: ['next_at', 'is_paused', 'last_run', 'body'],
}

/** The feed tells of schedules, and of each instant that is settled. */
export const scheduleChanges: Migration = {
  number: 20,
  name: 'schedule-changes',
  digest: '5822835dd109417f',
  up: (dialect) => [
    ...announcing(SCHEDULES, 'created', dialect),
    ...announcing(SCHEDULES, 'changed', dialect),
    ...announcing(SCHEDULES, 'deleted', dialect),
  ],
}
