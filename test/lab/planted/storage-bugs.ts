import type { PlantedBug } from './plant.ts'

/** In the store and the streams. */
export const STORAGE_BUGS: PlantedBug[] = [
  {
    name: 'no fence check',
    file: 'storage/runs/events.ts',
    find: "    .where('fence', '=', p('fence'))\n    .where('status', '=', sql.lit('running' as const))\n\n",
    replace: "    .where('status', '=', sql.lit('running' as const))\n\n",
    breaks: 'nothing happens twice: a stale worker cannot write',
  },
  {
    name: 'an older fence may write facts',
    file: 'storage/runs/events.ts',
    find: 'const takeAsHolder = statement<HolderTake>()((db, p) => heldBy(db, p)',
    replace:
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is in the file like this
      "const takeAsHolder = statement<HolderTake>()((db, p) => db.updateTable('runs').set({ next_seq: sql`next_seq + ${p('count')}` }).where('id', '=', p('id')).where('fence', '>=', p('fence')).where('status', '=', sql.lit('running' as const))",
    breaks: 'nothing happens twice: a stale worker cannot write',
  },
  {
    name: 'sequence from memory',
    file: 'storage/runs/events.ts',
    find: "  heldBy(db, p).where('next_seq', '=', p('seen')),\n)\n\nconst takeAsHolderAt = statement<HolderTake & { seen: number }>()((db, p) =>\n  heldBy(db, p).where('next_seq', '=', p('seen')).returning(CHANGED_RUN_COLUMNS),",
    replace:
      "  heldBy(db, p).where('next_seq', '>=', p('seen')),\n)\n\nconst takeAsHolderAt = statement<HolderTake & { seen: number }>()((db, p) =>\n  heldBy(db, p).where('next_seq', '>=', p('seen')).returning(CHANGED_RUN_COLUMNS),",
    breaks: 'nothing is lost: numbers come from the store, not from a memory',
  },
  {
    name: 'intents survive news',
    file: 'storage/runs/events.ts',
    find: '  const moved = await takeAnyway(db, append, facts.length)\n',
    replace:
      "  const anyway = await takeAnyway(db, append, entries.length)\n  if (anyway) {\n    const begin = anyway.next_seq - entries.length\n    const others = await db.all(eventsBetween, { run: append.runId, from: seen, to: begin })\n    const mine = await writeEntries(db, anyway, { entries, from: begin, commitId: append.commitId })\n    return { type: 'appended', news: [...others.map(eventOf), ...mine], intentsKept: true }\n  }\n  const moved = await takeAnyway(db, append, facts.length)\n",
    breaks: 'nothing is stuck: after a cancel nothing starts',
  },
  {
    name: 'idempotency key ignored',
    file: 'storage/runs/run-intake.ts',
    find: '  const earlier = await findByKey(db, run)\n',
    replace:
      '  const earlier = undefined as Awaited<ReturnType<typeof findByKey>>\n  run.idempotency = undefined as never\n',
    breaks: 'nothing happens twice: a retried request is recognized',
  },
  {
    name: 'the key of a steer is forgotten',
    file: 'storage/runs/run-intake.ts',
    find: '      await keepSteeredKey(db, run, admission.running)\n',
    replace: '',
    breaks: 'nothing happens twice: a retried steer is recognized',
  },
  {
    name: 'takeover without a new fence',
    file: 'storage/runs/run-claims.ts',
    find: "      fence: sql`fence + 1`,\n      lease_owner: p('worker'),\n      deaths:",
    replace: "      lease_owner: p('worker'),\n      deaths:",
    breaks: 'nothing happens twice: whoever takes over shuts the former holder out',
  },
  {
    name: 'deaths are not counted',
    file: 'storage/runs/run-claims.ts',
    find: 'const deaths = found.lease_owner === null ? 0 : 1',
    replace: 'const deaths = 0',
    breaks: 'nothing is stuck: a run that kills its workers ends',
  },
  {
    name: 'the queue is a stack',
    file: 'storage/runs/run-claims.ts',
    find: 'earlier.queue_rank = head.queue_rank and earlier.number < head.number',
    replace: 'earlier.queue_rank = head.queue_rank and earlier.number > head.number',
    breaks: 'nothing is stuck: who came first is served first',
  },
  {
    name: 'a waiting run does not hold its conversation',
    file: 'storage/runs/run-claims.ts',
    find: "(active.status = 'running' or active.waiting = 1)",
    replace: "active.status = 'running'",
    breaks: 'nothing happens twice: one run at a time in a conversation',
  },
  {
    name: 'a failed job leaves its half',
    file: 'storage/database/group-commit.ts',
    find: 'for (const ticket of group) answers.push(await ticket.job.work(db))',
    replace:
      'for (const ticket of group) {\n    try {\n      answers.push(await ticket.job.work(db))\n    } catch (error) {\n      if (group.length === 1) throw error\n      answers.push(undefined)\n    }\n  }',
    breaks: 'nothing is lost: a commit is whole or it is not',
  },
  {
    name: 'pieces written at once are not counted',
    file: 'storage/runs/chunks.ts',
    find: ".select(['fence', LAST.as('last'), 'last_event', 'ended', 'boot_id'])",
    replace: ".select(['fence', 'last', 'last_event', 'ended', 'boot_id'])",
    breaks: 'nothing is stuck: whoever takes a stream over goes on where it is',
  },
  {
    name: 'a stream can be ended twice',
    file: 'storage/runs/chunks.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is in the file like this
    find: "${last} = ${p('known')})`)\n      .where('ended', '=', sql.lit(0))\n",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is in the file like this
    replace: "${last} >= ${p('known')})`)\n",
    breaks: 'nothing is hidden: one terminal event, last',
  },
  {
    name: 'a stream nobody opened is numbered from the bound',
    file: 'storage/runs/chunks.ts',
    find: ' && (await headsMayBeLost(db, bootId))',
    replace: '',
    breaks: 'nothing is lost: numbers are dense',
  },
  {
    name: 'resume is off by one',
    file: 'live/watch-stream.ts',
    find: '  let last = after\n',
    replace: '  let last = after > 0 ? after + 1 : 0\n',
    breaks: 'nothing is lost: a reader that comes back misses nothing',
  },
  {
    name: 'a page of chunks begins with the last one',
    file: 'storage/runs/chunks.ts',
    find: 'filter((chunk) => chunk.number > after)',
    replace: 'filter((chunk) => chunk.number >= after)',
    breaks: 'nothing happens twice: a reader that comes back sees nothing again',
  },
  {
    name: 'a reader hears only its own process',
    file: 'live/stream-poller.ts',
    find: 'stop ??= clock.every(TICK_MS, pollOnce)',
    replace: '',
    breaks: 'nothing is lost: whoever writes the stream, every reader gets it',
  },
]
