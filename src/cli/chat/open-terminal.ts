import { defined } from '../../core/defined.ts'
import type { CliContext } from '../cli-context.ts'
import { newChatScreen } from '../live/chat-screen.ts'
import { newLiveRegion } from '../live/live-region.ts'
import { isCapable, type Look } from '../terminal.ts'
import { chatHistory } from './chat-history.ts'
import type { ChatSession } from './chat-session.ts'
import type { Completion } from './completion.ts'
import { type Keyboard, lineKeyboard } from './keyboard.ts'
import { NO_STATUS_ROW, newStatusRow } from './status-row.ts'
import { terminalKeyboard } from './terminal-keyboard.ts'

/** Where a chat reads and writes. */
export type ChatTerminal = Pick<ChatSession, 'screen' | 'answers' | 'status' | 'finish' | 'isLive'> & {
  openKeyboard(complete: (line: string) => Promise<Completion>): Keyboard
}

/** The rows of the window that the input and the status may need below an unfinished line. */
const RESERVED_ROWS = 6

export function openTerminal({ out, notes, environment, homeOf }: CliContext): ChatTerminal {
  const { stdin, stdout } = process
  if (!stdin.isTTY || !isCapable(stdout, environment)) return plainTerminal({ out, notes })
  const region = newLiveRegion(stdout)
  // The last column stays free: some terminals begin a new row as soon as it is written.
  const look = (): Look => ({ ...out.look, width: Math.max(10, out.look.width - 1) })
  const maxOpenRows = () => Math.max(2, (stdout.rows || 24) - RESERVED_ROWS)
  const screen = newChatScreen({ region, look, maxOpenRows, hasMarkdown: !environment.NO_COLOR })
  const history = chatHistory(homeOf(environment))
  return {
    screen,
    answers: screen.answers,
    finish: screen.finish,
    status: newStatusRow(region, look),
    isLive: true,
    openKeyboard: (complete) => terminalKeyboard({ input: stdin, output: stdout, region, screen, history, complete }),
  }
}

/** With its output in a pipe or a file, a person at a terminal is asked on stderr; the output has the whole chat. */
function plainTerminal({ out, notes }: Pick<CliContext, 'out' | 'notes'>): ChatTerminal {
  const isPrompted = process.stdin.isTTY === true
  const isPiped = isPrompted && process.stdout.isTTY !== true
  const prompts = isPiped ? (process.stderr.isTTY === true ? notes : undefined) : isPrompted ? out : undefined
  return {
    screen: out,
    answers: out,
    finish: () => {},
    status: NO_STATUS_ROW,
    isLive: false,
    openKeyboard: () =>
      lineKeyboard(process.stdin, defined({ ask: prompts?.write, echo: prompts === out ? undefined : out.write })),
  }
}
