import type { Agent } from '../../core/agent.ts'
import { commandLine } from '../program-name.ts'
import { type Term, termLines } from '../render/terms.ts'
import type { Look } from '../terminal.ts'
import { padToWidth, textWidth } from '../text-width.ts'

type Example = { say: string; what: string; tool?: string }

const EXAMPLES: readonly Example[] = [
  { say: 'what time is it in Tokyo', what: 'uses a tool', tool: 'current_time' },
  {
    say: 'remember that Ada likes tea',
    what: 'then, even after a restart: what do you remember',
    tool: 'write_note',
  },
  {
    say: 'write a small web page and serve it',
    what: 'works in a sandbox; the page survives kill -9',
    tool: 'write_file',
  },
  { say: 'roll two dice', what: 'two tools at once', tool: 'roll_dice' },
  { say: 'count to 20', what: 'shows progress; Ctrl-C cancels it', tool: 'slow_count' },
  { say: 'send a postcard to Ada saying hi', what: 'asks for your approval first', tool: 'send_postcard' },
  { say: 'tell me a long story', what: 'press Ctrl-C in the middle, or kill -9 it and restart' },
]

const LONGEST_EXAMPLE = Math.max(...EXAMPLES.map(({ say }) => say.length))

/** The first screen of a new conversation. */
export function welcome(agent: Agent, look: Look): string[] {
  const { bold, dim } = look.paint
  const examples = termLines(
    EXAMPLES.filter(({ tool }) => tool === undefined || agent.tools.includes(tool)).map(
      ({ say, what }): Term => [say, dim(what)],
    ),
    look,
    LONGEST_EXAMPLE,
  )
  const isScripted = agent.model.startsWith('scripted/')
  return [
    `${bold('Holdfast')} ${dim(`· chat with ${agent.name} (${agent.model})`)}`,
    '',
    ...(isScripted
      ? ['This agent answers from a script and needs no API key. Type, for example:', ...examples, '']
      : []),
    `/help lists the commands. ${bold(commandLine('demo'))} shows all of it in a minute, including kill -9.`,
  ]
}

export const welcomeBack = (agent: Agent, { paint }: Look): string[] => [
  `${paint.bold('Holdfast')} ${paint.dim(`· ${agent.name} (${agent.model}) · /help lists the commands`)}`,
]

/** Printed without a terminal and without input. */
export const noInputHelp = (): string[] => {
  const ways = [
    [commandLine('chat'), 'in a terminal'],
    [`echo "what time is it in Tokyo" | ${commandLine('chat')}`, ''],
    [commandLine('run "roll two dice"'), 'one turn, for scripts'],
  ] as const
  const width = Math.max(...ways.map(([command]) => textWidth(command)))
  return [
    'There was no input and no terminal to read from. To chat, use one of:',
    ...ways.map(([command, what]) => `  ${padToWidth(command, width)}   ${what}`.trimEnd()),
  ]
}
