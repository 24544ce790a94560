import { indented, type Look, safeText } from '../terminal.ts'

const INDENT = '\n      '

/** Each argument of a call on its own line, in full. Commands look like commands, and replaced text like a change. */
export function argumentLines(json: string, { paint }: Pick<Look, 'paint'>): string {
  const parsed: unknown = JSON.parse(json)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return `${INDENT}${safeText(json)}`
  const input = parsed as Record<string, unknown>
  const { old_string: before, new_string: after } = input
  const isChange = typeof before === 'string' && typeof after === 'string'
  const lines = Object.entries(input).flatMap(([key, value]) => {
    if (isChange && key === 'old_string') return []
    if (isChange && key === 'new_string') return changeLines({ before, after }, paint)
    if (key === 'command' && typeof value === 'string')
      return [indented(`${paint.dim('$')} ${safeText(value)}`, '        ')]
    return [indented(`${safeText(key)}: ${safeText(shownValue(value))}`, '        ')]
  })
  return lines.map((line) => `${INDENT}${line}`).join('')
}

/** The lines that differ, without those that both texts begin and end with. */
function changeLines(
  { before, after }: { before: string; after: string },
  { red, green, dim }: Look['paint'],
): string[] {
  const old = before.split('\n')
  const fresh = after.split('\n')
  let start = 0
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1
  let end = 0
  while (end < old.length - start && end < fresh.length - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1
  const same = (lines: readonly string[]) => lines.map((line) => dim(`  ${safeText(line)}`))
  return [
    ...same(old.slice(0, start)),
    ...old.slice(start, old.length - end).map((line) => red(`- ${safeText(line)}`)),
    ...fresh.slice(start, fresh.length - end).map((line) => green(`+ ${safeText(line)}`)),
    ...same(old.slice(old.length - end)),
  ]
}

const shownValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
