import type { PlantedBug } from './plant.ts'

/** Bugs in schedules. */
export const SCHEDULE_BUGS: PlantedBug[] = [
  {
    name: 'a schedule fires outside the transaction of its instant',
    file: 'service/schedules/settle-schedules.ts',
    find: '    others: [...others, ...refused],\n    firings,\n',
    replace:
      "    others: [...others, ...refused, ...(await Promise.all(firings.map(async ({ instant, open }) => { await context.deps.store.runs.open(open); return { instant, lastInstant: instant, count: 1, outcome: 'fired' as const, runId: open.run.id, isManual: decided.seen === 'manual' } })))],\n    firings: [],\n",
    breaks: 'nothing happens twice: an instant and its run are one transaction',
  },
  {
    name: 'the next instant is computed from now',
    file: 'core/schedule.ts',
    find: '    next = nextInstant(schedule, next)\n',
    replace: '    next = nextInstant(schedule, now)\n',
    breaks: 'nothing is hidden: every instant has its outcome',
  },
]
