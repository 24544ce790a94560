import { withoutEnding } from './without-ending.ts'
/** One operation of a patch to memory blocks. */
export type PatchOperation =
  | { type: 'add'; label: string; description: string; value: string }
  | { type: 'delete'; label: string }
  | { type: 'update'; label: string; patch: string }
  | { type: 'rename'; label: string; to: string }

type PatchedText = { type: 'patched'; value: string } | { type: 'refused'; reason: string }

const HEADER = /^\*\*\* (Add Block|Delete Block|Update Block|Move to):(.*)$/

/** Whether the patch names its blocks itself. */
export const namesBlocks = (patch: string): boolean => patch.split('\n').some((line) => HEADER.test(line))

/** The operations of a patch with `***` headers, in order; a text says why it cannot be read. */
export function parsePatch(patch: string): PatchOperation[] | string {
  const operations: PatchOperation[] = []
  let body: string[] = []
  let last: string | undefined
  const closeBody = () => {
    const open = operations.at(-1)
    if (open?.type === 'update') open.patch = body.join('\n')
    if (open?.type === 'add') Object.assign(open, addedText(body))
    body = []
  }
  for (const line of patch.split('\n')) {
    const header = HEADER.exec(line)
    if (!header) {
      body.push(line)
      continue
    }
    closeBody()
    const [kind, label] = [header[1]!, header[2]!.trim()]
    if (label === '') return `*** ${kind}: must specify a non-empty label`
    if (kind === 'Move to') {
      if (last === undefined) return '*** Move to: must follow an Add/Update/Delete header'
      operations.push({ type: 'rename', label: last, to: label })
    } else if (kind === 'Add Block') operations.push({ type: 'add', label, description: '', value: '' })
    else if (kind === 'Delete Block') operations.push({ type: 'delete', label })
    else operations.push({ type: 'update', label, patch: '' })
    last = label
  }
  closeBody()
  return operations
}

function addedText(lines: readonly string[]): { description: string; value: string } {
  const described = lines[0]?.startsWith('Description:') ? lines[0].slice('Description:'.length).trim() : undefined
  const added = (described === undefined ? lines : lines.slice(1)).flatMap((line) => {
    if (line.startsWith('+')) return [line.slice(1)]
    return line.trim() === '' ? [''] : []
  })
  return { description: described ?? '', value: withoutEnding(added.join('\n'), '\n') }
}

type Hunk = { before: string[]; after: string[] }

/** Applies hunks of lines that begin with a space, `-` or `+` to a text. Each must match exactly one place. */
export function applyLinePatch(value: string, patch: string): PatchedText {
  const hunks = hunksOf(patch)
  if (hunks.length === 0)
    return refused("No applicable hunks found in patch. Ensure lines start with ' ', '-', or '+'.")
  let lines = value.split('\n')
  for (const { before, after } of hunks) {
    // Without context the lines are added at the end.
    if (before.length === 0) {
      lines = value === '' && lines.length === 1 ? after : [...lines, ...after]
      continue
    }
    const places = placesOf(before, lines)
    if (places.length !== 1) return refused(places.length === 0 ? notFound(before) : AMBIGUOUS)
    lines = [...lines.slice(0, places[0]), ...after, ...lines.slice(places[0]! + before.length)]
  }
  return { type: 'patched', value: lines.join('\n') }
}

const refused = (reason: string): PatchedText => ({ type: 'refused', reason })

const notFound = (before: readonly string[]): string =>
  `Failed to apply patch: expected hunk context not found in the memory block. Verify the target lines exist and try providing more context. Expected start:\n${before.slice(0, 4).join('\n')}`

const AMBIGUOUS =
  'Failed to apply patch: hunk context matched multiple places in the memory block. Please add more unique surrounding context to disambiguate.'

function hunksOf(patch: string): Hunk[] {
  const hunks: Hunk[] = []
  let hunk: Hunk | undefined
  for (const line of withoutEnding(patch, '\n').split('\n')) {
    if (line.startsWith('@@')) hunk = undefined
    if (!/^[ +-]|^$/.test(line) || /^(---|\+\+\+)/.test(line)) continue
    if (!hunk) {
      hunk = { before: [], after: [] }
      hunks.push(hunk)
    }
    if (!line.startsWith('+')) hunk.before.push(line.slice(1))
    if (!line.startsWith('-')) hunk.after.push(line.slice(1))
  }
  return hunks
}

/** The first two places where these lines stand: more would not be told apart. */
function placesOf(wanted: readonly string[], lines: readonly string[]): number[] {
  const places: number[] = []
  for (let at = 0; at + wanted.length <= lines.length && places.length < 2; at++)
    if (wanted.every((line, offset) => lines[at + offset] === line)) places.push(at)
  return places
}
