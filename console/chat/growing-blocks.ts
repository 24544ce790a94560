/** A longer open block is cut: each piece parses the open block again. */
const MAX_OPEN = 2_000

export type GrowingBlocks = {
  /** Takes the whole text so far. `finished` only grows; `open` is the block that the next piece continues. */
  take(text: string): { finished: readonly string[]; open: string }
}

/** Splits Markdown that arrives in pieces at its empty lines, but never inside a fence. The work per piece depends on the piece and the open block alone. */
export function newGrowingBlocks(): GrowingBlocks {
  let finished: string[] = []
  let seen = 0
  /** The complete lines of the open block, and the line that is not complete yet. */
  let lines = ''
  let partial = ''
  let fence: Fence | undefined

  function finish(block: string): void {
    finished.push(fence ? `${block.replace(/\n$/, '')}\n${fence.mark}` : block)
    lines = fence ? fence.line : ''
  }

  function takeLine(line: string): void {
    if (!fence && line.trim() === '') {
      if (lines !== '') finish(lines)
      return
    }
    lines += line
    fence = fence ? (closes(line, fence) ? undefined : fence) : openedBy(line)
  }

  function cutIfLong(): void {
    while (lines.length + partial.length > MAX_OPEN) {
      if (lines !== (fence?.line ?? '')) finish(lines)
      else if (partial.length < 2) return
      else {
        const end = Math.min(cutOf(partial), partial.length - 1)
        finish(lines + partial.slice(0, end))
        partial = partial.slice(end)
      }
    }
  }

  return {
    take(text) {
      if (text.length < seen) {
        finished = []
        seen = 0
        lines = ''
        partial = ''
        fence = undefined
      }
      const added = (partial + text.slice(seen)).split('\n')
      seen = text.length
      partial = added.pop()!
      for (const line of added) {
        takeLine(`${line}\n`)
        if (lines.length > MAX_OPEN) cutIfLong()
      }
      cutIfLong()
      return { finished, open: lines + partial }
    },
  }
}

type Fence = { line: string; mark: string }

function openedBy(line: string): Fence | undefined {
  const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1]
  // A line that is longer than a block is no fence that could be repeated.
  return mark === undefined || line.length > 200 ? undefined : { line, mark }
}

function closes(line: string, { mark }: Fence): boolean {
  const text = line.trim()
  return text.startsWith(mark) && text === mark[0]!.repeat(text.length)
}

/** Behind the last space, and never inside a character. */
function cutOf(text: string): number {
  const space = text.lastIndexOf(' ', MAX_OPEN - 1)
  if (space > 0) return space + 1
  const code = text.charCodeAt(MAX_OPEN - 1)
  return code >= 0xd800 && code <= 0xdbff ? MAX_OPEN - 1 : MAX_OPEN
}
