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
  {
    name: 'a heartbeat fires while a person talks',
    file: 'storage/schedules/heartbeat.ts',
    find: '      if (isTalk(row)) return at\n',
    replace: '      if (isTalk(row) && row.completed_at === null) return at\n',
    breaks: 'a heartbeat is held back while a person talks and shortly after',
  },
  {
    name: 'the budget of a heartbeat is counted in memory, which a crash empties',
    file: 'storage/schedules/schedules.ts',
    find: '        work: (db) => settle(db, settlement),\n',
    replace:
      "        work: async (db) => {\n          const memory: Map<string, number> = ((write as { memory?: Map<string, number> }).memory ??= new Map())\n          let day = ''\n          const get = (query: never, values: { id: string; from: number }) => {\n            if (!('isManual' in values)) return db.get(query, values as never)\n            day = values.id + values.from\n            return { count: memory.get(day) ?? 0 }\n          }\n          const settled = await settle(Object.assign(Object.create(db), { get }), settlement)\n          const hasFired = settled.type === 'settled' && settled.instants.some(({ outcome }) => outcome === 'fired')\n          if (day && hasFired) memory.set(day, (memory.get(day) ?? 0) + 1)\n          return settled\n        },\n",
    breaks: 'a heartbeat fires no more in a day than its budget, also after a crash',
  },
  {
    name: 'the silence of a heartbeat is sent to the chat',
    lab: 'gateway',
    file: 'service/gateway/deliver-outcome.ts',
    find: '  if (task !== undefined || silent) return true\n',
    replace: '  if (task !== undefined || (silent && said === "")) return true\n',
    breaks: 'nothing is hidden, and nothing is said that is no news',
  },
]
