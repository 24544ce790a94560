import { newSlices } from './loop-slices.ts'

/** Texts up to this size are joined before they become bytes. */
const JOINED = 64 * 1024

/**
 * The JSON of an answer with a list: of an array, or of an object with arrays in it. A long one is built in slices, so
 * that one large page does not hold up the requests of others. A short one is a text, made at once.
 */
export function listText(answer: object): string | Promise<Buffer> {
  const pieces = piecesOf(answer)
  const pause = newSlices()
  let text = ''
  for (let next = pieces.next(); !next.done; next = pieces.next()) {
    text += next.value
    const turn = pause()
    if (turn) return rest({ text, pieces, pause, turn })
  }
  return text
}

type Started = {
  text: string
  pieces: Iterator<string>
  pause: ReturnType<typeof newSlices>
  turn: Promise<void>
}

async function rest({ text: begun, pieces, pause, turn }: Started): Promise<Buffer> {
  const done: Buffer[] = []
  let text = begun
  await turn
  for (let next = pieces.next(); !next.done; next = pieces.next()) {
    text += next.value
    if (text.length > JOINED) {
      done.push(Buffer.from(text))
      text = ''
    }
    await pause()
  }
  done.push(Buffer.from(text))
  return Buffer.concat(done)
}

function* piecesOf(answer: object): Generator<string, void, undefined> {
  if (Array.isArray(answer)) yield* arrayPieces(answer)
  else {
    let before = '{'
    for (const [key, value] of Object.entries(answer)) {
      if (value === undefined) continue
      yield `${before}${JSON.stringify(key)}:`
      if (Array.isArray(value)) yield* arrayPieces(value)
      else yield JSON.stringify(value)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  }
}

function* arrayPieces(items: readonly unknown[]): Generator<string, void, undefined> {
  let before = '['
  for (const item of items) {
    // As in JSON.stringify, what has no JSON is null.
    yield `${before}${JSON.stringify(item) ?? 'null'}`
    before = ','
  }
  yield before === '[' ? '[]' : ']'
}
