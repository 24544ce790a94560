import type { Agent } from '../../core/agent.ts'
import type { Look } from '../terminal.ts'

const EXAMPLES = [
  ['what time is it in Tokyo', 'uses a tool'],
  ['remember that Ada likes tea', 'then, even after a restart: what do you remember'],
  ['write a small web page and serve it', 'works in a sandbox; the page is served through kill -9'],
  ['roll two dice', 'two tools at once'],
  ['count to 20', 'shows progress; Ctrl-C cancels it'],
  ['send a postcard to Ada saying hi', 'asks for your approval first'],
  ['tell me a long story', 'press Ctrl-C in the middle, or kill -9 it and start again'],
] as const

/** The first thing a newcomer sees. */
export function welcome(agent: Agent, { paint }: Look): string[] {
  const { bold, dim } = paint
  const examples = EXAMPLES.map(([say, what]) => `  ${say.padEnd(37)}${dim(what)}`)
  const isScripted = agent.model.startsWith('scripted/')
  return [
    `${bold('Holdfast')} ${dim(`· you talk to ${agent.name} (${agent.model})`)}`,
    '',
    ...(isScripted ? ['It answers from a script, so no key is needed. Type, for example:', ...examples, ''] : []),
    `/help shows the commands. ${bold('holdfast demo')} shows everything in a minute, kill -9 included.`,
  ]
}

export const welcomeBack = (agent: Agent, { paint }: Look): string[] => [
  `${paint.bold('Holdfast')} ${paint.dim(`· ${agent.name} (${agent.model}) · /help shows the commands`)}`,
]

/** For a start without a terminal and without input. */
export const NO_INPUT_HELP = [
  'Nothing to answer: there was no input, and no terminal to ask at. To talk, either:',
  '  npm run chat                               in a terminal',
  '  echo "what time is it in Tokyo" | npm run chat',
  '  npm run holdfast -- run "roll two dice"    one turn, for scripts',
]
