import type { ToolCall, ToolOutcome } from '../../core/tool-call.ts'

export type CallResult = { call: ToolCall; outcome: ToolOutcome }

/** Comments on a tool: its result, and the text for a call that did not happen or may not have happened. */
type ToolComments = { done(output: string): string; notDone: string; unclear: string }

const TOOL_COMMENTS: Record<string, ToolComments> = {
  current_time: {
    done: (output) => `It is ${output}.`,
    notDone: 'I did not look at the clock.',
    unclear: 'I cannot tell whether I looked at the clock.',
  },
  write_note: {
    done: () => 'Done, it is in my notebook. Ask me "what do you remember?" whenever you like, even after a restart.',
    notDone: 'I did not write that down.',
    unclear: 'I cannot tell whether the note was written.',
  },
  read_notes: {
    done: (output) => (output.startsWith('- ') ? `This is in my notebook:\n${output}` : output),
    notDone: 'I did not read my notebook.',
    unclear: 'I cannot tell whether I read my notebook.',
  },
  erase_notes: {
    done: () => 'All forgotten: my notebook is empty now.',
    notDone: 'I erased nothing; my notebook is as it was.',
    unclear: 'I cannot tell whether my notebook was erased. Ask me "what do you remember?" to find out.',
  },
  slow_count: {
    done: (output) => `${output} That was fun.`,
    notDone: 'I did not count.',
    unclear: 'I cannot tell how far I counted.',
  },
  send_postcard: {
    done: (output) => `${output} It is only a file in the home folder: nothing was mailed.`,
    notDone: 'I did not send the postcard.',
    unclear: 'I cannot tell whether the postcard was sent. Look into the outbox before you send it again.',
  },
  write_file: {
    done: (output) => output,
    notDone: 'I did not write that.',
    unclear: 'I cannot tell whether it was written. Ask me to read it.',
  },
  shell: {
    done: (output) => output,
    notDone: 'I did not run that.',
    unclear: 'I cannot tell whether that ran. Ask me "what is running".',
  },
  roll_dice: {
    done: (output) => `${output}.`,
    notDone: 'I did not roll that die.',
    unclear: 'I cannot tell how that die fell.',
  },
}

export function commentOn(results: readonly CallResult[]): string {
  const rolls = results.flatMap(rollOf)
  const rest = results.filter((result) => rollOf(result).length === 0)
  const sentences = [...(rolls.length > 0 ? [aboutRolls(rolls)] : []), ...rest.map(aboutResult)]
  // Equal sentences appear once.
  return [...new Set(sentences)].join('\n') || 'There is nothing to report.'
}

function aboutResult({ call, outcome }: CallResult): string {
  const comments = TOOL_COMMENTS[call.tool] ?? unknownToolComments(call.tool)
  switch (outcome.status) {
    case 'success':
      return comments.done(outcome.output)
    case 'error':
      return `That did not work. ${outcome.output}`
    case 'denied':
      return `${comments.notDone} ${outcome.output}`
    case 'unknown':
      return `${comments.unclear} ${outcome.output}`
  }
}

function aboutRolls(rolls: number[]): string {
  if (rolls.length === 1) return `You rolled a ${rolls[0]}.`
  const sum = rolls.reduce((total, roll) => total + roll, 0)
  return `You rolled ${rolls.slice(0, -1).join(', ')} and ${rolls.at(-1)}: ${sum} in all.`
}

function rollOf({ call, outcome }: CallResult): number[] {
  const roll = /^Rolled (\d+)/.exec(outcome.output)?.[1]
  return call.tool === 'roll_dice' && outcome.status === 'success' && roll ? [Number(roll)] : []
}

const unknownToolComments = (tool: string): ToolComments => ({
  done: (output) => `${tool} says: ${output}`,
  notDone: `${tool} did not run.`,
  unclear: `I cannot tell what ${tool} did.`,
})
