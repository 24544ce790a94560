import type { PlantedBug } from './plant.ts'

/** Bugs in hooks and webhooks. */
export const WEBHOOK_BUGS: PlantedBug[] = [
  {
    name: 'a hook opens a run for a delivery that it knows',
    file: 'storage/hooks/hooks.ts',
    find: '  if ((await db.run(insertOnce, row)) === 0) {\n',
    replace: '  if ((await db.run(insertOnce, row)) < 0) {\n',
    breaks: 'nothing happens twice: a delivery becomes one run',
  },
  {
    name: 'a webhook is delivered once it is claimed',
    file: 'storage/webhooks/deliveries.ts',
    find: "    .set({ due_at: p('until'), tries: sql`tries + 1` })\n",
    replace: '    .set({ due_at: null, tries: sql`tries + 1` })\n',
    breaks: 'nothing is lost: the end of each run is told of',
  },
]
