import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import type { ChatHistory } from './chat-history.ts'

/** Where the lines of a chat come from. */
export type Keyboard = {
  /** The next line, or undefined at the end of input and when the user leaves. */
  readLine(prompt: string): Promise<string | undefined>
  /** A line that was typed after the question was shown; undefined without a terminal, or when the user leaves. */
  ask(question: string): Promise<string | undefined>
  /** Whether the input is a terminal. */
  readonly isAttended: boolean
  /** What Ctrl-C does while no line is being read. */
  onInterrupt(listener: () => void): void
  close(): void
}

type Terminal = { input: NodeJS.ReadStream; output: NodeJS.WriteStream; history: ChatHistory }

/** Terminal input with line editing and history. Lines typed during an answer are queued without echo. */
export function terminalKeyboard({ input, output, history }: Terminal): Keyboard {
  const screen = mutableOutput(output)
  const reader = createInterface({
    input,
    output: screen.stream,
    terminal: true,
    history: history.load(),
    historySize: history.size,
    removeHistoryDuplicates: true,
  })
  const ahead: string[] = []
  let deliver: ((line: string | undefined) => void) | undefined
  let isAsking = false
  let isClosed = false
  let interrupt: () => void = () => {}

  reader.on('line', (line) => {
    if (deliver) deliver(line)
    else ahead.push(line)
  })
  reader.on('history', (lines) => {
    // The answer to an approval does not belong in the history.
    if (isAsking) lines.shift()
    else history.save(lines)
  })
  reader.on('SIGINT', () => {
    if (!deliver) return interrupt()
    if (reader.line === '') return deliver(undefined)
    // As in a shell: Ctrl-C clears the line.
    reader.write(null, { ctrl: true, name: 'e' })
    reader.write(null, { ctrl: true, name: 'u' })
  })
  reader.on('close', () => {
    isClosed = true
    deliver?.(undefined)
  })

  function read(prompt: string): Promise<string | undefined> {
    if (isClosed) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      deliver = (line) => {
        deliver = undefined
        if (line === undefined) screen.stream.write('\n')
        screen.mute()
        resolve(line)
      }
      screen.open()
      reader.setPrompt(prompt)
      reader.prompt(true)
    })
  }

  return {
    isAttended: true,
    async readLine(prompt) {
      const typed = ahead.shift()
      if (typed === undefined) return read(prompt)
      output.write(`${prompt}${typed}\n`)
      return typed
    },
    async ask(question) {
      isAsking = true
      // Discard text that was typed before the question was shown: it must not answer it.
      reader.write(null, { ctrl: true, name: 'e' })
      reader.write(null, { ctrl: true, name: 'u' })
      try {
        return await read(question)
      } finally {
        isAsking = false
      }
    },
    onInterrupt: (listener) => {
      interrupt = listener
    },
    close: () => reader.close(),
  }
}

/** Lines from a pipe or a file. Questions get no answer. */
export function pipedKeyboard(input: NodeJS.ReadableStream, echo: (text: string) => void): Keyboard {
  const reader = createInterface({ input, terminal: false })
  const lines = reader[Symbol.asyncIterator]()
  return {
    isAttended: false,
    async readLine(prompt) {
      const next = await lines.next()
      if (next.done) return undefined
      echo(`${prompt}${next.value}\n`)
      return next.value
    },
    ask: async () => undefined,
    onInterrupt: () => {},
    close: () => reader.close(),
  }
}

/** Output for readline. While muted it draws nothing, so that it does not disturb the streamed answer. */
function mutableOutput(output: NodeJS.WriteStream) {
  let isMuted = true
  const stream = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      if (!isMuted) output.write(chunk)
      done()
    },
  })
  Object.defineProperty(stream, 'columns', { get: () => output.columns })
  output.on('resize', () => stream.emit('resize'))
  return {
    stream,
    mute: () => {
      isMuted = true
    },
    open: () => {
      isMuted = false
    },
  }
}
