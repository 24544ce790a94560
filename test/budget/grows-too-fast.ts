/** Below this, the work is small and its growth not measurable: an input of 8,000 characters takes a quadratic reader longer. */
const SMALL_MS = 10
const CHARACTERS = 8_000
const SHORT = [22, 200, 800]
/** Linear work doubles, quadratic work quadruples. */
const MOST_GROWTH = 2.6

/**
 * Whether the processor time grows faster than the input. The absolute time is no measure, because the machine may be
 * slow or busy; of several attempts the shortest counts.
 */
export function growsTooFast(inputOf: (characters: number) => string, work: (input: string) => unknown): boolean {
  const msAt = (characters: number): number => {
    const input = inputOf(characters)
    const before = process.cpuUsage()
    work(input)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000
  }
  // Exponential and cubic work shows on short texts, and would not end on long ones.
  for (const characters of SHORT) if (Math.min(msAt(characters), msAt(characters)) > SMALL_MS) return true
  if (msAt(CHARACTERS) < SMALL_MS) return false
  const leastMsAt = (characters: number) => Math.min(...Array.from({ length: 4 }, () => msAt(characters)))
  const growsFast = () => {
    const twice = leastMsAt(2 * CHARACTERS)
    return twice > SMALL_MS && twice / leastMsAt(CHARACTERS) > MOST_GROWTH
  }
  // Garbage collection and compilation count as processor time and hit one measurement; quadratic work shows in each.
  return growsFast() && growsFast() && growsFast()
}

/** Texts of a form that hurts readers with backtracking: a beginning, one part many times, and an end that fits nothing. */
export function attacks(beginnings: readonly string[], parts: readonly string[], ends: readonly string[]) {
  return beginnings.flatMap((beginning) =>
    parts.flatMap((part) =>
      ends.map((end) => ({
        name: JSON.stringify([beginning, part, end]),
        inputOf: (characters: number) => beginning + part.repeat(Math.ceil(characters / part.length)) + end,
      })),
    ),
  )
}
