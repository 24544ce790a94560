import type { Readable } from 'node:stream'

const NEWLINE = 10

/** Calls `onLine` for each line of a stream. `onOverflow`: a line is longer than `maxBytes`, and reading has stopped. */
export function readLines(
  stream: Readable,
  { maxBytes, onLine, onOverflow }: { maxBytes: number; onLine(line: string): void; onOverflow(): void },
): void {
  let pieces: Buffer[] = []
  let bytes = 0
  let isOver = false
  stream.on('data', (data: Buffer) => {
    for (let rest = data; !isOver && rest.length > 0; ) {
      const end = rest.indexOf(NEWLINE)
      const piece = end === -1 ? rest : rest.subarray(0, end)
      bytes += piece.length
      if (bytes > maxBytes) {
        isOver = true
        pieces = []
        return onOverflow()
      }
      pieces.push(piece)
      if (end === -1) return
      const line = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
      pieces = []
      bytes = 0
      rest = rest.subarray(end + 1)
      if (line.length > 0) onLine(line.toString('utf8'))
    }
  })
}
