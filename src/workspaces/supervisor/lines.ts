/** Splits a stream into lines. A line over the limit is an error: neither server nor supervisor sends one. */
export function newLineReader(maxBytes: number, onLine: (line: string) => void) {
  let pieces: Buffer[] = []
  let held = 0

  return (chunk: Buffer): 'fine' | 'too-long' => {
    let from = 0
    for (;;) {
      const end = chunk.indexOf(10, from)
      if (end < 0) break
      pieces.push(chunk.subarray(from, end))
      const line = Buffer.concat(pieces).toString('utf8')
      pieces = []
      held = 0
      from = end + 1
      if (line) onLine(line)
    }
    if (from < chunk.length) {
      held += chunk.length - from
      if (held > maxBytes) return 'too-long'
      pieces.push(chunk.subarray(from))
    }
    return 'fine'
  }
}

export const MAX_LINE_BYTES = 48 * 1024 * 1024
