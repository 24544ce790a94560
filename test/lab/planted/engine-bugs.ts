import type { PlantedBug } from './plant.ts'

/** Bugs in `engine/` and `service/`. */
export const ENGINE_BUGS: PlantedBug[] = [
  {
    name: 'tools start before the commit',
    file: 'engine/turn.ts',
    find: "      if (facts.length > 0 || stop.cause() !== 'leaving') yield { facts }\n",
    replace:
      "      for (const fact of facts)\n        if (fact.type === 'answer-received')\n          for (const call of fact.calls)\n            if (!call.needsApproval && call.refusal === undefined)\n              inFlight.set(call.callId, executeCall(call, { ...opened.callContext, answerId: fact.answerId }))\n      if (facts.length > 0 || stop.cause() !== 'leaving') yield { facts }\n",
    breaks: 'nothing is lost: a tool call is on disk before the tool runs',
  },
  {
    name: 'the cache serves a stale history',
    file: 'engine/agent-cache.ts',
    find: 'one.signature === other.signature && one.sequence === other.sequence',
    replace: 'one.signature === other.signature',
    breaks: 'nothing is lost: the model sees every committed message',
  },
  {
    name: 'failover carries over to the next turn',
    file: 'engine/call-model.ts',
    find: "resolveTarget(turn.settings.targets[state.target] ?? '', state, caller)",
    replace:
      "resolveTarget(turn.settings.targets[((caller.models as { leaked?: number }).leaked = Math.max((caller.models as { leaked?: number }).leaked ?? 0, state.target))] ?? '', state, caller)",
    breaks: 'nothing is hidden: every turn starts with its first target',
  },
  {
    name: 'an interrupted answer keeps its calls',
    file: 'engine/call-model.ts',
    find: '  const failure = state.kept && hasNothingToAdd(draft) ? undefined : answerFailure(draft)\n',
    replace:
      "  if (caller.signal.aborted && draft.calls.length > 0) draft.finish = 'tool-calls'\n  const failure = state.kept && hasNothingToAdd(draft) ? undefined : answerFailure(draft)\n",
    breaks: 'nothing is hidden: a cut answer has no calls',
  },
  {
    name: 'the cached history misses the last tool results',
    file: 'engine/journal.ts',
    find: "if (change.type === 'add-message') cached.append(change.message.body)",
    replace:
      "if (change.type === 'add-message' && change.message.body.role !== 'tool') cached.append(change.message.body)",
    breaks: 'nothing is lost: the model sees its tool results',
  },
  {
    name: 'a transient store error while reading history ends the run',
    file: 'engine/journal.ts',
    find: 'await retryWhileTransient(read, { clock, signal: stop.left })',
    replace: 'await read()',
    breaks: 'nothing is stuck: a transient store error ends no run',
  },
  {
    name: 'the end of a stale turn makes its process forget the live turn',
    file: 'engine/dispatcher.ts',
    find: '      if (turns.get(id)?.control === control) turns.delete(id)\n',
    replace: '      turns.delete(id)\n',
    breaks: 'nothing is stuck: a run in progress is not handed back',
  },
  {
    name: 'the lease is never renewed',
    file: 'engine/engine.ts',
    find: "      await deps.store.workers.beat(workerId, LEASE_MS)\n      dispatcher.wake('queue-and-dead')",
    replace: "      dispatcher.wake('queue-and-dead')",
    breaks: 'nothing is stuck: a living worker keeps its runs',
  },
  {
    name: 'runs of dead workers are not looked for',
    file: 'engine/dispatcher.ts',
    find: "      if (what === 'queue-and-dead') mayHaveDead = true\n",
    replace: '',
    breaks: 'nothing is stuck: recovery after a crash is automatic',
  },
  {
    name: 'an expired approval is never ended',
    file: 'engine/engine.ts',
    find: 'for (const run of await store.runs.expired(clock.now(), 100)) {',
    replace: 'for (const run of (await store.runs.expired(clock.now(), 100)).slice(0, 0)) {',
    breaks: 'nothing is stuck: a forgotten approval expires',
  },
  {
    name: 'an unfinished stream is never completed',
    file: 'engine/engine.ts',
    find: 'for (const runId of await streams.unended(100)) if (!dispatcher.isRunning(runId)) await finishStream(runId, deps)',
    replace: 'for (const runId of await streams.unended(100)) if (!dispatcher.isRunning(runId)) continue',
    breaks: 'nothing is stuck: every stream has its terminal event',
  },
  {
    name: 'a claim whose response was lost is never handed back',
    file: 'engine/engine.ts',
    find: '      await orphans.handBack()\n',
    replace: '',
    breaks: 'nothing is stuck: a claimed run is run',
  },
  {
    name: 'partial text of a dead worker is not reset',
    file: 'engine/catch-up-stream.ts',
    find: 'partial = undefined\n    return chunks\n',
    replace: 'partial = undefined\n    return chunks.slice(0, 0)\n',
    breaks: 'nothing is hidden: discarded text is reset in the stream',
  },
  {
    name: 'a takeover does not stream what was committed',
    file: 'engine/catch-up-stream.ts',
    find: "      if (chunks.length > 0) stream.write([...reset('interrupted'), ...chunks], seq, at)",
    replace:
      "      if (chunks.length > 0 && event.type !== 'tool-ended') stream.write([...reset('interrupted'), ...chunks], seq, at)",
    breaks: 'nothing is lost: the stream contains every committed event',
  },
  {
    name: 'two calls share an idempotency key',
    file: 'engine/execute-call.ts',
    find: 'digest([organizationId, conversationId, answerId, call.callId, call.digest]',
    replace: 'digest([organizationId, conversationId, call.callId, call.digest]',
    breaks: 'nothing is lost: each call has its own effect',
  },
  {
    name: 'the idempotency key changes with the worker',
    file: 'engine/execute-call.ts',
    find: 'digest([organizationId, conversationId, answerId, call.callId, call.digest]',
    replace:
      'digest([organizationId, conversationId, answerId, call.callId, call.digest, String(context.clock.monotonic())]',
    breaks: 'nothing happens twice: a tool can recognize its second execution',
  },
  {
    name: 'a cancel does not reach running tools',
    file: 'engine/open-turn.ts',
    find: '    signal: stop.tools,\n',
    replace: '    signal: stop.left,\n',
    breaks: 'nothing is stuck: a cancel is carried out within seconds',
  },
  {
    name: 'a cancel of a queued run is only recorded',
    file: 'engine/cancel-run.ts',
    find: "run.status === 'running' ? await requestCancel(run, cause, deps) : await endWithoutHolder(run, cause, deps)",
    replace: '!run.waiting ? await requestCancel(run, cause, deps) : await endWithoutHolder(run, cause, deps)',
    breaks: 'nothing is stuck: a queued run can be cancelled',
  },
  {
    name: 'a cancel of a waiting run leaves its calls without an outcome',
    file: 'engine/cancel-run.ts',
    find: '    intents: [...facts, ...intents],\n',
    replace: "    intents: [...facts, ...intents].filter(({ event }) => event.type !== 'tool-ended'),\n",
    breaks: 'nothing is stuck: every call has an outcome',
  },
  {
    name: 'a repeated approval opens another run',
    file: 'service/approvals/answer-approval.ts',
    find: '  if (!stopped) return continuing.id\n',
    replace: '  if (!stopped && continuing.status === "created") return continuing.id\n',
    breaks: 'nothing happens twice: an approval is carried out once',
  },
  {
    name: 'the continuing run drops unread input',
    file: 'service/approvals/answer-approval.ts',
    find: 'inputs: [...turn.pending, ...(followUps ?? [])]',
    replace: 'inputs: [...(followUps ?? [])]',
    breaks: 'nothing is lost: accepted input reaches the model',
  },
]
