import { emitKeypressEvents, type Key } from 'node:readline'

/** A key by its name (`ctrl+a`), typed text, or a whole paste. */
export type KeyPress = { type: 'key'; name: string } | { type: 'text'; text: string } | { type: 'paste'; text: string }

type KeyTerminal = { input: NodeJS.ReadStream; output: Pick<NodeJS.WriteStream, 'write'> }

type KeyInput = {
  /** Gives the terminal back, for a while or for good. */
  leave(): void
  enter(): void
}

const PASTE_MODE_ON = '\x1b[?2004h'
const PASTE_MODE_OFF = '\x1b[?2004l'
const SHOW_CURSOR = '\x1b[?25h'
/** Shift-Enter and Alt-Enter of terminals that report all modifiers. */
const REPORTED_KEYS: Record<string, string> = { '\x1b[13;2u': 'shift+return', '\x1b[13;3u': 'meta+return' }

/** Reads keys from a terminal in raw mode, with pastes in brackets. The terminal is given back when the process ends. */
export function readKeys({ input, output }: KeyTerminal, listener: (press: KeyPress) => void): KeyInput {
  let isEntered = false
  let pasted: string[] | undefined

  const onKey = (text: string | undefined, key: Key) => {
    if (key.name === 'paste-start') {
      pasted = []
    } else if (key.name === 'paste-end') {
      const whole = pasted?.join('')
      pasted = undefined
      if (whole) listener({ type: 'paste', text: whole })
    } else if (pasted && key.sequence !== '\x03') {
      pasted.push(key.sequence ?? text ?? '')
    } else {
      // Ctrl-C in a paste: the end of the paste was lost, and the keyboard must not stay captured.
      pasted = undefined
      const press = pressOf(text, key)
      if (press) listener(press)
    }
  }

  const leave = () => {
    if (!isEntered) return
    isEntered = false
    process.off('exit', leave)
    input.off('keypress', onKey)
    output.write(`${PASTE_MODE_OFF}${SHOW_CURSOR}`)
    if (!input.destroyed) input.setRawMode(false)
    input.pause()
  }
  const enter = () => {
    if (isEntered) return
    isEntered = true
    // Also after a crash: a terminal in raw mode is useless to its shell.
    process.once('exit', leave)
    emitKeypressEvents(input)
    input.setRawMode(true)
    input.on('keypress', onKey)
    input.resume()
    output.write(PASTE_MODE_ON)
  }
  enter()
  return { leave, enter }
}

function pressOf(text: string | undefined, key: Key): KeyPress | undefined {
  const { name, sequence = '', ctrl, meta, shift } = key
  const reported = REPORTED_KEYS[sequence]
  if (reported) return { type: 'key', name: reported }
  // A line feed is Ctrl-J; Enter sends a carriage return.
  if (sequence === '\n') return { type: 'key', name: 'ctrl+j' }
  const isTyped = text !== undefined && !ctrl && !meta && !isControl(text)
  if (isTyped) return { type: 'text', text }
  if (name === undefined || name === 'undefined') return undefined
  const modifiers = [ctrl ? 'ctrl' : '', meta ? 'meta' : '', shift && name.length > 1 ? 'shift' : ''].filter(Boolean)
  return { type: 'key', name: [...modifiers, name].join('+') }
}

const isControl = (text: string): boolean => /^\p{Cc}/u.test(text)
