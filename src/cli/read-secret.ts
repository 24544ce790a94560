import { createInterface } from 'node:readline/promises'
import { Problem } from '../core/problem.ts'
import type { Screen } from './terminal.ts'

/** Longer than any key or token: longer input is the wrong file. */
const MAX_SECRET_CHARACTERS = 64 * 1024

/** All of standard input. */
export async function secretFromPipe(input: NodeJS.ReadStream): Promise<string> {
  let text = ''
  for await (const chunk of input.setEncoding('utf8')) {
    text += chunk
    if (text.length > MAX_SECRET_CHARACTERS)
      throw new Problem(
        'invalid',
        `Standard input is too long to be a secret: the limit is ${MAX_SECRET_CHARACTERS} characters.`,
      )
  }
  return text.trim()
}

/** Reads a typed or pasted secret without echo. Undefined: the user pressed Ctrl-C. */
export function secretFromKeyboard(
  prompt: string,
  { write }: Screen,
  input: NodeJS.ReadStream,
): Promise<string | undefined> {
  // Before the prompt: input that is typed early must not be echoed either.
  input.setRawMode(true)
  input.setEncoding('utf8').resume()
  write(prompt)
  return new Promise((resolve) => {
    let typed = ''
    const finish = (secret: string | undefined) => {
      input.off('data', take)
      input.setRawMode(false)
      input.pause()
      write('\n')
      resolve(secret)
    }
    const take = (keys: string) => {
      for (const key of keys) {
        if (key === CTRL_C) return finish(undefined)
        if (key === '\r' || key === '\n' || key === CTRL_D) return finish(typed.trim())
        if (key === BACKSPACE || key === '\b') typed = typed.slice(0, -1)
        else if (key === CTRL_U) typed = ''
        else if (key >= ' ') typed += key
      }
    }
    input.on('data', take)
  })
}

const CTRL_C = '\x03'
const CTRL_D = '\x04'
const CTRL_U = '\x15'
const BACKSPACE = '\x7f'

/** True only for y or yes. */
export const confirm = async (
  question: string,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
): Promise<boolean> => /^y(es)?$/i.test((await lineFromKeyboard(question, input, output)) ?? '')

/** A line that is no secret. Undefined: the user pressed Ctrl-C. */
export async function lineFromKeyboard(
  question: string,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
): Promise<string | undefined> {
  const reader = createInterface({ input, output })
  const left = new AbortController()
  reader.on('SIGINT', () => left.abort())
  reader.on('close', () => left.abort())
  try {
    return (await reader.question(question, { signal: left.signal })).trim()
  } catch (fault) {
    if (left.signal.aborted) return undefined
    throw fault
  } finally {
    reader.close()
  }
}
