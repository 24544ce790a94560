/** The name that a misspelled one probably means; undefined if none is near enough. */
export function nearestName(misspelled: string, names: readonly string[]): string | undefined {
  const word = misspelled.toLowerCase()
  const ranked = names
    .map((name) => ({ name, distance: editDistance(word, name.toLowerCase()) }))
    .toSorted((one, other) => one.distance - other.distance)
  const best = ranked[0]
  return best && best.distance <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : undefined
}

/** Letters to insert, delete, replace or swap with their neighbor (Damerau-Levenshtein, optimal string alignment). */
export function editDistance(one: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwap = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      current[column] = Math.min(
        last[column]! + 1,
        current[column - 1]! + 1,
        last[column - 1]! + (isSame ? 0 : 1),
        isSwap ? beforeLast[column - 2]! + 1 : Number.POSITIVE_INFINITY,
      )
    }
    beforeLast = last
    last = current
  }
  return last[other.length]!
}
