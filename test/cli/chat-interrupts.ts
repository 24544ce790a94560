import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type CliProcess, holdfast, newHome, startAtTerminal, startServing } from './holdfast.ts'

const CONTROL_C = '\x03'
const PRESSES = 40
/** The last that the chat writes to the terminal. */
const PASTE_MODE_OFF = '\x1b[?2004l'

/** What is typed, what then has to be on the screen, and what is typed at that moment. */
export type Moment = { typed: string; seen?: string; keys: string }

const TWICE = CONTROL_C + CONTROL_C

export const MOMENTS: Readonly<Record<string, Moment>> = {
  'together with Enter': { typed: `count to 100\r${CONTROL_C}`, keys: '' },
  'twice, together with Enter': { typed: `count to 100\r${TWICE}`, keys: '' },
  'three times, together with Enter': { typed: `count to 100\r${TWICE}${CONTROL_C}`, keys: '' },
  'when the message appears above the line': { typed: 'count to 100\r', seen: 'you › count to 100', keys: TWICE },
  'while the model is silent': { typed: 'tell me a long story\r', seen: 'Ctrl-C cancels', keys: TWICE },
  'in the middle of a word': { typed: 'tell me a long story\r', seen: 'lighth', keys: CONTROL_C },
  'as the tool starts': { typed: 'count to 100\r', seen: '→ slow_count', keys: TWICE },
  'while the turn is being cancelled': { typed: `count to 100\r`, seen: '2 of 100', keys: `${CONTROL_C}x${CONTROL_C}` },
  'while a message is queued': { typed: 'count to 100\rroll two dice\r', seen: 'queued: roll', keys: TWICE },
  'while a message is typed ahead': { typed: 'count to 100\rroll tw', seen: 'roll tw', keys: TWICE },
  'at a question': { typed: 'forget everything\r', seen: 'y = yes', keys: CONTROL_C },
  'while an answer to a question is typed': { typed: 'forget everything\r', seen: 'y = yes', keys: `no${TWICE}` },
  'during a command': { typed: '/help\r', seen: '/conversations', keys: TWICE },
}

/** The chat ends when the keys are repeated, gives the terminal back and leaves a home that the next command can use. */
export async function endsAfterInterrupt(context: TestContext, { typed, seen, keys }: Moment, hasServer: boolean) {
  const home = newHome(context)
  const server = hasServer ? await startServing(home) : undefined
  // Without styles the text of the screen is in one piece.
  const chat = startAtTerminal(['chat'], { home, environment: { NO_COLOR: '1' } })
  await chat.waitForText('you ›')
  chat.type(typed)
  if (seen) await chat.waitForText(seen)
  chat.type(keys)
  const { code, stdout } = await pressUntilEnded(chat)
  assert.equal(code, 0)
  // The settings of the terminal as they are printed after the chat.
  assert.match(stdout.trimEnd(), /[^-]icanon$/)
  server?.child.kill('SIGTERM')
  await server?.ended
  const doctor = await holdfast(['doctor'], { home })
  assert.equal(doctor.code, 0, doctor.stdout + doctor.stderr)
}

async function pressUntilEnded(chat: CliProcess) {
  let ended = false
  const end = () => {
    ended = true
  }
  void chat.ended.then(end)
  // Once it has given the terminal back, a press would be for the program that started it.
  void chat.waitUntil((output) => output.includes(PASTE_MODE_OFF), 'the terminal given back').then(end, end)
  for (let press = 0; press < PRESSES && !ended; press++) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    if (!ended) chat.type(CONTROL_C)
  }
  return chat.ended
}
