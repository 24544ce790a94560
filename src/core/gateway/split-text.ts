/**
 * Splits Markdown into messages of at most `max` characters, at the end of a paragraph, else of a line, a sentence or a
 * word. A code block that is cut is closed and opened again.
 */
export function splitText(text: string, max: number): string[] {
  const parts: string[] = []
  let rest = text.trim()
  let fence = ''
  while (rest.length > 0) {
    const open = fence === '' ? '' : `${fence}\n`
    const room = max - open.length - CLOSE_ROOM
    if (open.length + rest.length <= max) {
      parts.push(open + rest)
      break
    }
    const at = cutPoint(rest, room)
    const piece = rest.slice(0, at).trimEnd()
    rest = rest.slice(at).replace(/^\n+/, '')
    fence = fenceAfter(open + piece)
    parts.push(fence === '' ? open + piece : `${open}${piece}\n\`\`\``)
  }
  return parts
}

/** A closing fence with its line break. */
const CLOSE_ROOM = 4

/** Later cut points first within the last half, so that parts are not tiny. */
const BREAKS = [/\n\n/g, /\n/g, /[.!?]\s/g, /\s/g]

function cutPoint(text: string, room: number): number {
  const window = text.slice(0, room)
  for (const pattern of BREAKS) {
    const last = [...window.matchAll(pattern)].at(-1)
    const end = last ? last.index + last[0].length : 0
    if (end > room / 2) return end
  }
  // Never between the halves of a character.
  const isHigh = /[\uD800-\uDBFF]/.test(window.at(-1) ?? '')
  return isHigh ? room - 1 : room
}

/** The opening fence of a code block that this text leaves open. */
function fenceAfter(text: string): string {
  let open = ''
  for (const [fence] of text.matchAll(/^ {0,3}```[^\n`]*$/gm)) open = open === '' ? fence.trim() : ''
  return open
}
