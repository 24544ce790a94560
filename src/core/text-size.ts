/** Characters of all texts in a value. */
export function textSize(root: unknown): number {
  let size = 0
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string') size += value.length
    else if (value !== null && typeof value === 'object') for (const inner of Object.values(value)) waiting.push(inner)
  }
  return size
}
