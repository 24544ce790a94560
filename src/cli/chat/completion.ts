/** The words that may stand from this position of the line on. */
export type Completion = { from: number; words: readonly string[] }

/** The line with as much as is certain, and the words that it may still become. */
export function completed(line: string, { from, words }: Completion): { text: string; choices: string[] } {
  const begun = line.slice(from)
  const choices = words.filter((word) => word.toLowerCase().startsWith(begun.toLowerCase()))
  const [first, ...others] = choices
  if (first === undefined) return { text: line, choices }
  if (others.length === 0) return { text: `${line.slice(0, from)}${first} `, choices }
  let length = first.length
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length -= 1
  const shared = first.slice(0, length)
  return { text: shared.length > begun.length ? line.slice(0, from) + shared : line, choices }
}
