import type { Agent } from '../../core/agent.ts'
import { commandLine } from '../program-name.ts'
import { type Term, termLines } from '../render/terms.ts'
import type { Look } from '../terminal.ts'
import { padToWidth, textWidth } from '../text-width.ts'

const EXAMPLES = [
  ['what time is it in Tokyo', 'uses a tool'],
  ['remember that Ada likes tea', 'then, even after a restart: what do you remember'],
  ['write a small web page and serve it', 'works in a sandbox; the page survives kill -9'],
  ['roll two dice', 'two tools at once'],
  ['count to 20', 'shows progress; Ctrl-C cancels it'],
  ['send a postcard to Ada saying hi', 'asks for your approval first'],
  ['tell me a long story', 'press Ctrl-C in the middle, or kill -9 it and restart'],
] as const

const LONGEST_EXAMPLE = Math.max(...EXAMPLES.map(([say]) => say.length))

/** The first screen of a new conversation. */
export function welcome(agent: Agent, look: Look): string[] {
  const { bold, dim } = look.paint
  const examples = termLines(
    EXAMPLES.map(([say, what]): Term => [say, dim(what)]),
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
