import type { PlantedBug } from './plant.ts'

/** In the engine and the front desk. */
export const ENGINE_BUGS: PlantedBug[] = [
  {
    name: 'dispatch before commit',
    file: 'engine/turn.ts',
    find: '      // Stopped without facts: an empty commit reads the event that stopped it.\n',
    replace:
      "      for (const fact of facts)\n        if (fact.type === 'answer-received')\n          for (const call of fact.calls)\n            if (!call.needsApproval && call.refusal === undefined)\n              inFlight.set(call.callId, executeCall(call, { ...opened.callContext, answerId: fact.answerId }))\n",
    breaks: 'nothing is lost: a tool call is on disk before the tool runs',
  },
  {
    name: 'the cache serves a stale past',
    file: 'engine/agent-cache.ts',
    find: 'one.signature === other.signature && one.sequence === other.sequence',
    replace: 'one.signature === other.signature',
    breaks: 'nothing is lost: a model is told all that was said, whoever wrote it',
  },
  {
    name: 'fallback leaks into the next turn',
    file: 'engine/call-model.ts',
    find: "resolveTarget(turn.settings.targets[state.target] ?? '', state, caller)",
    replace:
      "resolveTarget(turn.settings.targets[((caller.models as { leaked?: number }).leaked = Math.max((caller.models as { leaked?: number }).leaked ?? 0, state.target))] ?? '', state, caller)",
    breaks: 'nothing is hidden: every turn asks its first target first',
  },
  {
    name: 'a half answer keeps its calls',
    file: 'engine/call-model.ts',
    find: '  const failure = state.kept && hasNothingToAdd(draft) ? undefined : faultOf(draft)\n',
    replace:
      "  if (caller.signal.aborted && draft.calls.length > 0) draft.finish = 'tool-calls'\n  const failure = state.kept && hasNothingToAdd(draft) ? undefined : faultOf(draft)\n",
    breaks: 'nothing is hidden: a cut answer has no calls',
  },
  {
    name: 'the history is remembered without the last results',
    file: 'engine/journal.ts',
    find: "if (change.type === 'add-message') cached.append(change.message.body)",
    replace:
      "if (change.type === 'add-message' && change.message.body.role !== 'tool') cached.append(change.message.body)",
    breaks: 'nothing is lost: the model is told what its tools said',
  },
  {
    name: 'a turn that cannot read its history for a moment gives up',
    file: 'engine/journal.ts',
    find: 'await retryWhileTransient(read, { clock, signal: stop.left })',
    replace: 'await read()',
    breaks: 'nothing is stuck: a fault of the store that passes ends no run',
  },
  {
    name: 'the end of a stale turn makes its process forget the live one',
    file: 'engine/dispatcher.ts',
    find: '      if (turns.get(id)?.control === control) turns.delete(id)\n',
    replace: '      turns.delete(id)\n',
    breaks: 'nothing is stuck: a run that is being run is not handed back',
  },
  {
    name: 'lease never renewed',
    file: 'engine/engine.ts',
    find: "      await deps.store.workers.beat(workerId, LEASE_MS)\n      dispatcher.wake('queue-and-dead')",
    replace: "      dispatcher.wake('queue-and-dead')",
    breaks: 'nothing is stuck: a living worker keeps its runs',
  },
  {
    name: 'the dead are not looked for',
    file: 'engine/dispatcher.ts',
    find: "      if (what === 'queue-and-dead') mayHaveDead = true\n",
    replace: '',
    breaks: 'nothing is stuck: a crash is recovered without a person',
  },
  {
    name: 'a lapsed approval is never swept',
    file: 'engine/engine.ts',
    find: 'for (const run of await store.runs.expired(clock.now(), 100)) {',
    replace: 'for (const run of (await store.runs.expired(clock.now(), 100)).slice(0, 0)) {',
    breaks: 'nothing is stuck: a forgotten approval expires',
  },
  {
    name: 'a stream without its end stays so',
    file: 'engine/engine.ts',
    find: 'for (const runId of await streams.unended(100)) if (!dispatcher.isRunning(runId)) await finishStream(runId, deps)',
    replace: 'for (const runId of await streams.unended(100)) if (!dispatcher.isRunning(runId)) continue',
    breaks: 'nothing is stuck: every stream has its terminal event',
  },
  {
    name: 'a claim nobody heard of is never handed back',
    file: 'engine/engine.ts',
    find: '      await orphans.handBack()\n',
    replace: '',
    breaks: 'nothing is stuck: a claimed run is run',
  },
  {
    name: 'text of a dead worker is not taken back',
    file: 'engine/catch-up-stream.ts',
    find: 'partial = undefined\n    return chunks\n',
    replace: 'partial = undefined\n    return chunks.slice(0, 0)\n',
    breaks: 'nothing is hidden: abandoned text is taken back',
  },
  {
    name: 'whoever takes over does not tell what was committed',
    file: 'engine/catch-up-stream.ts',
    find: "      if (chunks.length > 0) stream.write([...reset('interrupted'), ...chunks], seq)",
    replace:
      "      if (chunks.length > 0 && event.type !== 'tool-ended') stream.write([...reset('interrupted'), ...chunks], seq)",
    breaks: 'nothing is lost: the stream is the log',
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
    breaks: 'nothing happens twice: a tool can recognize its own second execution',
  },
  {
    name: 'a cancel does not reach the tools',
    file: 'engine/open-turn.ts',
    find: '    signal: stop.tools,\n',
    replace: '    signal: stop.left,\n',
    breaks: 'nothing is stuck: a cancel is carried out within seconds',
  },
  {
    name: 'a cancel in the queue is only noted',
    file: 'engine/cancel-run.ts',
    find: "run.status === 'running' ? await requestCancel(run, cause, deps) : await endWithoutHolder(run, cause, deps)",
    replace: '!run.waiting ? await requestCancel(run, cause, deps) : await endWithoutHolder(run, cause, deps)',
    breaks: 'nothing is stuck: a queued run can be cancelled',
  },
  {
    name: 'a waiting run is cancelled without a word to its calls',
    file: 'engine/cancel-run.ts',
    find: '    intents: [...facts, ...intents],\n',
    replace: "    intents: [...facts, ...intents].filter(({ event }) => event.type !== 'tool-ended'),\n",
    breaks: 'nothing is stuck: every call has an outcome',
  },
  {
    name: 'a repeated answer opens another run',
    file: 'service/approvals/answer-approval.ts',
    find: '  if (!stopped) return continuing.id\n',
    replace: '  if (!stopped && continuing.status === "created") return continuing.id\n',
    breaks: 'nothing happens twice: an approval is carried out once',
  },
  {
    name: 'the continuing run forgets what was not read',
    file: 'service/approvals/answer-approval.ts',
    find: 'inputs: [...turn.pending, ...(followUps ?? [])]',
    replace: 'inputs: [...(followUps ?? [])]',
    breaks: 'nothing is lost: what was accepted is read',
  },
]
