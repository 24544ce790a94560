import type { PlantedBug } from './plant.ts'

/** Bugs in the recovery from failing models: ladders, credential pools, cooldowns and compaction. */
export const RECOVERY_BUGS: PlantedBug[] = [
  {
    name: 'a remedy edits the history',
    file: 'engine/attempt.ts',
    find: "  const grant = choice.type === 'granted' ? { grant: choice.grant } : {}\n",
    replace:
      "  const grant = choice.type === 'granted' ? { grant: choice.grant } : {}\n  if (state.adjustments.stripSignatures)\n    for (const body of question.messages)\n      if (body.role === 'assistant') body.content = body.content.filter((part) => part.type === 'text')\n",
    breaks: 'nothing is lost: a remedy changes only the copy that is sent',
  },
  {
    name: 'a remedy edits the stored messages',
    file: 'storage/runs/changes.ts',
    find: "        case 'move-context':\n",
    replace:
      "        case 'note-model':\n          await db.run(statement<{ id: string }>()((kysely, p) => kysely.updateTable('messages').set({ body: sql`replace(body, 'hm ', '')` }).where('conversation_id', '=', p('id'))), { id: run.conversation_id })\n          break\n        case 'move-context':\n",
    breaks: 'nothing is lost: committed messages never change',
  },
  {
    name: 'a cooldown never ends',
    file: 'providers/credentials/credential-pool.ts',
    find: 'dead === undefined && !setAside.includes(id) && !(cooldown && cooldown.until > at)',
    replace: 'dead === undefined && !setAside.includes(id) && !cooldown',
    breaks: 'nothing is stuck: a credential is used again after its cooldown',
  },
  {
    name: 'a cooldown is ignored',
    file: 'providers/credentials/credential-pool.ts',
    find: 'dead === undefined && !setAside.includes(id) && !(cooldown && cooldown.until > at)',
    replace: 'dead === undefined && !setAside.includes(id)',
    breaks: 'nothing is hidden: a credential in cooldown is not used',
  },
  {
    name: 'the last credential gets a cooldown without a stated end',
    file: 'core/cooldown.ts',
    find: 'const ms = statedMs(failure) ?? (siblings > 0 ? rule.defaultMs : undefined)',
    replace: 'const ms = statedMs(failure) ?? rule.defaultMs',
    breaks: 'nothing is stuck: the last credential is never skipped without a stated end',
  },
  {
    name: 'the stated end of a cooldown is ignored',
    file: 'core/cooldown.ts',
    find: 'const ms = statedMs(failure) ?? (siblings > 0 ? rule.defaultMs : undefined)',
    replace: 'const ms = siblings > 0 ? (rule.defaultMs ?? statedMs(failure)) : statedMs(failure)',
    breaks: 'nothing is hidden: a cooldown lasts as long as its provider states',
  },
  {
    name: 'a truncated call runs',
    file: 'core/answer.ts',
    find: '  if (draft.calls.length > 0)\n    return isTruncated\n',
    replace: '  if (draft.calls.length > 0)\n    return isTruncated && draft.calls.length > 99\n',
    breaks: 'nothing happens by half: a truncated call is requested again',
  },
  {
    name: 'rotation forgets which key failed',
    file: 'core/attempt-state.ts',
    find: 'setAside: credentialId ? [...state.setAside, credentialId] : state.setAside',
    replace: 'setAside: credentialId ? [credentialId] : state.setAside',
    breaks: 'nothing is stuck: a key that failed in this step is not tried again in it',
  },
  {
    name: 'the next credential is the same one',
    file: 'core/attempt-state.ts',
    find: 'setAside: credentialId ? [...state.setAside, credentialId] : state.setAside',
    replace: 'setAside: state.setAside, ...(credentialId ? { credentialId } : {})',
    breaks: 'nothing is stuck: the next credential is another one',
  },
  {
    name: 'a failure is charged to another credential',
    file: 'engine/fail-attempt.ts',
    find: 'credentialId: grant ? grant.grant.credentialId : undefined,',
    replace: 'credentialId: grant ? (state.credentialId ?? grant.grant.credentialId) : undefined,',
    breaks: 'nothing is hidden: the credential that made the request is the one that failed',
  },
  {
    name: 'the cooldown is given to another credential than the one that failed',
    file: 'engine/fail-attempt.ts',
    find: 'grantId: grant.credentialId,',
    replace: "grantId: grant.credentialId.replace(/-2$/, '') as typeof grant.credentialId,",
    breaks: 'nothing is hidden: the credential that failed gets the cooldown',
  },
  {
    name: 'the continue prompt is stored in the history',
    file: 'core/attempt-state.ts',
    find: '  const content = joinContent(state.kept?.content ?? [], kept.content)\n',
    replace:
      "  const content = joinContent(state.kept?.content ?? [], [...kept.content, { type: 'text', text: '[go on]' }])\n",
    breaks: 'nothing is invented: prompts for the model alone are never stored',
  },
  {
    name: 'the prompt to answer again becomes a message',
    file: 'core/projection.ts',
    find: "        ...inputMessages(turn.pending.slice(0, event.inputsRead), context),\n        { type: 'add-step', step },\n        addMessage(answerId, { role: 'assistant', content, calls }, { ...context, stepId }),\n",
    replace:
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
      "        ...inputMessages(turn.pending.slice(0, event.inputsRead), context),\n        ...(turn.attempts.answer.spent.includes('prompt-again')\n          ? [addMessage(`message-prompt-${stepId}`, { role: 'user', content: [{ type: 'text', text: 'Your last answer had no text and called no tool.' }] }, context)]\n          : []),\n        { type: 'add-step', step },\n        addMessage(answerId, { role: 'assistant', content, calls }, { ...context, stepId }),\n",
    breaks: 'nothing is invented: prompts for the model alone are never stored',
  },
  {
    name: 'partial text is dropped when another key continues it',
    file: 'core/attempt-state.ts',
    find: '      const { credentialId: _, ...rest } = next\n',
    replace: '      const { credentialId: _, kept: __, ...rest } = next\n',
    breaks: 'nothing is lost: text that was cut off is continued, not restarted',
  },
  {
    name: 'partial text is stored twice',
    file: 'core/projection.ts',
    find: 'isRest ? joinContent(turn.attempts.answer.kept?.content ?? [], content) : content',
    replace:
      'isRest ? joinContent([...(turn.attempts.answer.kept?.content ?? []), ...(turn.deaths > 0 ? (turn.attempts.answer.kept?.content ?? []) : [])], content) : content',
    breaks: 'nothing happens twice: a continued text is one text',
  },
  {
    name: 'partial text is never reset',
    file: 'core/chunk.ts',
    find: 'return [...resetKeptText(turn, event), ...renderEnd(turn, event)]',
    replace: 'return renderEnd(turn, event)',
    breaks: 'nothing is hidden: discarded text is reset',
  },
  {
    name: 'compaction splits a call from its result',
    file: 'core/compaction.ts',
    find: '    return isOpen ? [] : [index]\n',
    replace: '    return [index]\n',
    breaks: 'nothing is stuck: a call and its result stay together',
  },
  {
    name: 'compaction loses a message between summary and tail',
    file: 'core/compaction.ts',
    find: '    contextStart: view[cut]?.position ?? old.at(-1)! + 1,\n',
    replace: '    contextStart: (view[cut + 1] ?? view[cut])?.position ?? old.at(-1)! + 1,\n',
    breaks: 'nothing is lost: a summary covers everything out of view',
  },
  {
    name: 'a summary misses a message that it replaces',
    file: 'engine/transcript.ts',
    find: '  return messages\n',
    replace: '  return messages\n    .slice(1)\n',
    breaks: 'nothing is lost: a summary is made from every message it replaces',
  },
  {
    name: 'compaction is repeated for no gain',
    file: 'engine/overflow.ts',
    find: "turn.attempts.answer.spent.includes('compact') || turn.compactions >= MAX_COMPACTIONS",
    replace: 'turn.compactions >= 1_000',
    breaks: 'nothing is stuck: a compaction that frees nothing is not repeated',
  },
  {
    name: 'a compaction that frees nothing is committed',
    file: 'core/compaction.ts',
    find: 'const MIN_GAIN = 0.1',
    replace: 'const MIN_GAIN = -1',
    breaks: 'nothing is stuck: a summary saves tokens',
  },
  {
    name: 'a second compaction loses the question',
    file: 'engine/compact-context.ts',
    find: ' : findQuoted(view[0])\n',
    replace: ' : undefined\n',
    breaks: 'nothing is lost: a question stays in view until it is answered',
  },
  {
    name: 'a reset of an empty view brings everything back',
    file: 'engine/compact-context.ts',
    find: '  const to = newest?.position ?? -1\n',
    replace: '  const to = newest && view.length > 0 ? newest.position : 0\n',
    breaks: 'nothing is hidden: messages out of view stay out of view',
  },
  {
    name: 'waits exceed the wait budget',
    file: 'engine/fail-attempt.ts',
    find: '(turn.settings.patienceMs ?? WAIT_BUDGET_MS) - state.waitedMs',
    replace: 'turn.settings.patienceMs ?? WAIT_BUDGET_MS',
    breaks: 'nothing is stuck: the waits of a step share one budget',
  },
  {
    name: 'the guard of a key is not reset by rotation',
    file: 'core/attempt-state.ts',
    find: '      const guards = withoutCredentialRemedies(spent)\n',
    replace: '      const guards = spent\n',
    breaks: 'nothing is stuck: each key has its own retries',
  },
  {
    name: 'used remedies are forgotten on restart',
    file: 'core/turn.ts',
    find: '      return { ...turn, deaths: turn.deaths + 1 }\n',
    replace:
      '      return { ...turn, deaths: turn.deaths + 1, attempts: { ...turn.attempts, answer: { ...turn.attempts.answer, spent: [], adjustments: {} } } }\n',
    breaks: 'nothing is hidden: a restart remembers what was tried',
  },
  {
    name: 'success does not clear a cooldown',
    file: 'core/projection.ts',
    find: 'credentialId && clearsCooldown\n',
    replace: 'credentialId && clearsCooldown && target > 0\n',
    breaks: 'nothing is hidden: a credential that works has no cooldown',
  },
  {
    name: 'failover of a summary changes the target of answers',
    file: 'core/turn.ts',
    find: '  const attempts = shareWaitedTime({ ...turn.attempts, [purpose]: state, ...started }, state.waitedMs)\n',
    replace:
      "  const moved = remedy === 'next-target' ? { answer: { ...turn.attempts.answer, target: state.target } } : {}\n  const attempts = shareWaitedTime({ ...turn.attempts, ...moved, [purpose]: state, ...started }, state.waitedMs)\n",
    breaks: 'nothing is hidden: a summary has its own position in the chain',
  },
  {
    name: 'a login is renewed by several processes at once',
    file: 'storage/credentials/credential-statements.ts',
    find: '(refreshing_by is null or refreshing_until <=',
    replace: '(refreshing_by is null or refreshing_by is not null or refreshing_until <=',
    breaks: 'nothing happens twice: a refresh token is used once',
  },
  {
    name: 'a renewal in progress is not awaited',
    file: 'providers/credentials/credential-pool.ts',
    find: '    if (clock.monotonic() < (nextRenewalAt.get(id) ?? 0)) return false\n',
    replace:
      '    if (clock.monotonic() < (nextRenewalAt.get(id) ?? 0)) return false\n    nextRenewalAt.set(id, clock.monotonic() + RENEWAL_BACKOFF_MS)\n',
    breaks: 'nothing is hidden: an expired token is not used while its renewal is in progress',
  },
  {
    name: 'a secret gets into the log',
    file: 'engine/fail-attempt.ts',
    find: '    failure: reported,\n',
    replace:
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is code
      '    failure: grant ? { ...reported, detail: `${reported.detail} (${grant.grant.secret})` } : reported,\n',
    breaks: 'nothing leaks: secrets are in no event',
  },
]
