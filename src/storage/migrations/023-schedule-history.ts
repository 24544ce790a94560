import type { Migration } from './migration.ts'

/** Old entries of the history of schedules are found by their age. */
export const scheduleHistory: Migration = {
  number: 23,
  name: 'schedule-history',
  digest: '1e7b1b53800bb410',
  up: () => ['create index schedule_instants_by_age on schedule_instants (settled_at)'],
}
