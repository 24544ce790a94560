import type { PlantedBug } from './plant.ts'

/** Bugs in the store and the streams. */
export const STORAGE_BUGS: PlantedBug[] = [
  {
    name: 'the fence is not checked',
    file: 'storage/runs/events.ts',
    find: "    .where('fence', '=', p('fence'))\n    .where('status', '=', sql.lit('running' as const))\n\n",
    replace: "    .where('status', '=', sql.lit('running' as const))\n\n",
    breaks: 'nothing happens twice: a stale worker cannot write',
  },
  {
    name: 'a worker with an older fence writes facts',
    file: 'storage/runs/events.ts',
    find: 'const takeAsHolder = statement<HolderTake>()((db, p) => heldBy(db, p)',
    replace:
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is in the file like this
      "const takeAsHolder = statement<HolderTake>()((db, p) => db.updateTable('runs').set({ next_seq: sql`next_seq + ${p('count')}` }).where('id', '=', p('id')).where('fence', '>=', p('fence')).where('status', '=', sql.lit('running' as const))",
    breaks: 'nothing happens twice: a stale worker cannot write',
  },
  {
    name: 'sequence numbers come from memory',
    file: 'storage/runs/events.ts',
    find: "  heldBy(db, p).where('next_seq', '=', p('seen')),\n)\n\nconst takeAsHolderAt = statement<HolderTake & { seen: number }>()((db, p) =>\n  heldBy(db, p).where('next_seq', '=', p('seen')).returning(CHANGED_RUN_COLUMNS),",
    replace:
      "  heldBy(db, p).where('next_seq', '>=', p('seen')),\n)\n\nconst takeAsHolderAt = statement<HolderTake & { seen: number }>()((db, p) =>\n  heldBy(db, p).where('next_seq', '>=', p('seen')).returning(CHANGED_RUN_COLUMNS),",
    breaks: 'nothing is lost: sequence numbers come from the store',
  },
  {
    name: 'intents are committed although the log has moved',
    file: 'storage/runs/events.ts',
    find: '  const moved = await takeAnyway(db, append, facts.length)\n',
    replace:
      "  const anyway = await takeAnyway(db, append, entries.length)\n  if (anyway) {\n    const begin = anyway.next_seq - entries.length\n    const others = await db.all(eventsBetween, { run: append.runId, from: seen, to: begin })\n    const mine = await writeEntries(db, anyway, { entries, from: begin, commitId: append.commitId })\n    return { type: 'appended', news: [...others.map(eventOf), ...mine], intentsKept: true }\n  }\n  const moved = await takeAnyway(db, append, facts.length)\n",
    breaks: 'nothing is stuck: after a cancel nothing starts',
  },
  {
    name: 'the idempotency key is ignored',
    file: 'storage/runs/run-intake.ts',
    find: '  const earlier = await findByKey(db, run)\n',
    replace:
      '  const earlier = undefined as Awaited<ReturnType<typeof findByKey>>\n  run.idempotency = undefined as never\n',
    breaks: 'nothing happens twice: a retried request is recognized',
  },
  {
    name: 'the idempotency key of a steer is not stored',
    file: 'storage/runs/steers.ts',
    find: '  if (!idempotency) return\n',
    replace: '  if (idempotency || !idempotency) return\n',
    breaks: 'nothing happens twice: a retried steer is recognized',
  },
  {
    name: 'a steer that the turn did not read is not opened',
    file: 'storage/runs/insert-run.ts',
    find: "  await insertRun(db, moved, { entry: { event, at }, rank: 'next' })\n",
    replace: '  if (!at) await insertRun(db, moved, { entry: { event, at }, rank: "next" })\n',
    breaks: 'nothing is lost: a steer that was not read has a run of its own',
  },
  {
    name: 'a message that was urgent while an approval waited runs between the calls and their results',
    file: 'storage/runs/run-intake.ts',
    find: "rank: 'at-once'",
    replace: "rank: 'next'",
    from: 801,
    breaks: 'nothing is lost: results follow their calls',
  },
  {
    name: 'an interrupt cancels a run of another conversation',
    file: 'storage/runs/run-intake.ts',
    find: '{ runId: admission.running, entry: open.interruption }',
    replace:
      "{ runId: (await db.get(statement<{ own: ConversationId }>()((kysely, p) => kysely.selectFrom('runs').select('id').where('status', '=', sql.lit('running' as const)).where('conversation_id', '<>', p('own'))), { own: run.conversationId }))?.id ?? admission.running, entry: open.interruption }",
    breaks: 'nothing happens twice: an interrupt cancels the turn of its conversation',
  },
  {
    name: 'a session ends while a run is queued',
    file: 'storage/runs/run-intake.ts',
    find: '  const { run, policy } = open\n  const conversation',
    replace:
      "  const { run } = open\n  const policy = open.onlyAfter ? 'queue' : open.policy\n  delete open.onlyAfter\n  const conversation",
    breaks: 'nothing is lost: a session ends only when nothing is running, waiting or queued',
  },
  {
    name: 'a takeover does not raise the fence',
    file: 'storage/runs/run-claims.ts',
    find: "      fence: sql`fence + 1`,\n      lease_owner: p('worker'),\n      deaths:",
    replace: "      lease_owner: p('worker'),\n      deaths:",
    breaks: 'nothing happens twice: a takeover locks the former holder out',
  },
  {
    name: 'worker deaths are not counted',
    file: 'storage/runs/run-claims.ts',
    find: 'const deaths = found.lease_owner === null ? 0 : 1',
    replace: 'const deaths = 0',
    breaks: 'nothing is stuck: a run that kills its workers ends',
  },
  {
    name: 'the queue serves the newest run first',
    file: 'storage/runs/run-claims.ts',
    find: 'earlier.queue_rank = head.queue_rank and earlier.number < head.number',
    replace: 'earlier.queue_rank = head.queue_rank and earlier.number > head.number',
    breaks: 'nothing is stuck: runs are served in order of arrival',
  },
  {
    name: 'a waiting run does not lock its conversation',
    file: 'storage/runs/run-claims.ts',
    find: "(active.status = 'running' or active.waiting = 1)",
    replace: "active.status = 'running'",
    breaks: 'nothing happens twice: one run at a time in a conversation',
  },
  {
    name: 'a failed job leaves a partial commit',
    file: 'storage/database/group-commit.ts',
    find: 'for (const ticket of group) answers.push(await ticket.job.work(db))',
    replace:
      'for (const ticket of group) {\n    try {\n      answers.push(await ticket.job.work(db))\n    } catch (error) {\n      if (group.length === 1) throw error\n      answers.push(undefined)\n    }\n  }',
    breaks: 'nothing is lost: a commit is atomic',
  },
  {
    name: 'chunks written together are not counted',
    file: 'storage/runs/chunks.ts',
    find: ".select(['fence', LAST.as('last'), 'last_event', 'ended', 'boot_id'])",
    replace: ".select(['fence', 'last', 'last_event', 'ended', 'boot_id'])",
    breaks: 'nothing is stuck: a takeover continues the stream where it ends',
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
    name: 'a stream that was never opened is numbered from the bound',
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
    breaks: 'nothing is lost: a reader that reconnects misses nothing',
  },
  {
    name: 'a page of chunks repeats the last chunk',
    file: 'storage/runs/chunks.ts',
    find: 'filter((chunk) => chunk.number > after)',
    replace: 'filter((chunk) => chunk.number >= after)',
    breaks: 'nothing happens twice: a reader that reconnects sees no chunk again',
  },
  {
    name: 'a reader sees only chunks of its own process',
    file: 'live/stream-poller.ts',
    find: 'stop ??= clock.every(TICK_MS, pollOnce)',
    replace: '',
    breaks: 'nothing is lost: every reader gets every chunk, whichever process writes it',
  },
  {
    name: 'an entry of the audit log does not know the one before it',
    file: 'storage/people/audit.ts',
    find: 'const hash = auditDigest(chainedText({ ...entry, sequence }, head))',
    replace: "const hash = auditDigest(chainedText({ ...entry, sequence }, { sequence, hash: '' }))",
    breaks: 'nothing is hidden: a changed audit log shows',
  },
  {
    name: 'an action is committed without its entry in the audit log',
    file: 'storage/people/audited-writes.ts',
    find: '          if (counted.hasChanged()) {\n',
    replace: '          if (counted.hasChanged() && entry.at < 0) {\n',
    breaks: 'nothing is hidden: an audited action and its entry are one commit',
  },
]
