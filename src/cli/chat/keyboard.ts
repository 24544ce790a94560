import { createInterface } from 'node:readline'

/** A line of input: `shown` has placeholders for long pasted texts. */
export type Entered = { text: string; shown: string }

/** What keys do while a turn runs. */
export type TurnKeys = { line(entered: Entered): void; interrupt(): void; leave(): void }

/** Where the lines of a chat come from. */
export type Keyboard = {
  /** Whether a person can answer questions. */
  readonly isAttended: boolean
  /** The next line, or undefined at the end of input and when the user leaves. */
  readLine(prompt: string): Promise<Entered | undefined>
  /** A line that was typed after the question was shown; undefined if no person is there, or when the user leaves. */
  ask(question: string): Promise<string | undefined>
  /** Takes the keys until the returned function is called. */
  duringTurn(keys: TurnKeys): () => void
  /** Puts a text that was refused back into the input line, unless another one was begun. */
  restore(text: string): void
  close(): void
}

type LineOptions = {
  /** Shows prompts to a person at a terminal, which echoes what is typed; absent: no person is there. */
  ask?(text: string): void
  /** Repeats the input where the answers go, because no terminal does. */
  echo?(text: string): void
}

/** Lines from a pipe, a file or a simple terminal: one line is one message, and the next is read after its turn. */
export function lineKeyboard(input: NodeJS.ReadableStream, { ask, echo }: LineOptions): Keyboard {
  const reader = createInterface({ input, terminal: false })
  const lines = reader[Symbol.asyncIterator]()
  const next = async (): Promise<string | undefined> => {
    const line = await lines.next()
    return line.done ? undefined : line.value
  }
  const read = async (prompt: string): Promise<string | undefined> => {
    ask?.(prompt)
    const text = await next()
    if (text !== undefined) echo?.(`${prompt}${text}\n`)
    return text
  }
  return {
    isAttended: ask !== undefined,
    async readLine(prompt) {
      const text = await read(prompt)
      return text === undefined ? undefined : { text, shown: text }
    },
    ask: async (question) => (ask ? read(question) : undefined),
    duringTurn: () => () => {},
    restore: () => {},
    close: () => reader.close(),
  }
}
