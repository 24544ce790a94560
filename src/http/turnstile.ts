/** Lets a bounded number of holders of each name in at a time; the others wait in order of arrival. */
type Turnstile = {
  /** Resolves to the function that lets the next one in. */
  enter(name: string): Promise<() => void>
}

export function newTurnstile(most: number): Turnstile {
  const lanes = new Map<string, { inside: number; waiting: (() => void)[] }>()
  return {
    async enter(name) {
      const lane = lanes.get(name) ?? { inside: 0, waiting: [] }
      lanes.set(name, lane)
      // A place that becomes free is passed on: a new one cannot overtake those that wait.
      if (lane.inside >= most) await new Promise<void>((resolve) => lane.waiting.push(resolve))
      else lane.inside += 1
      let isInside = true
      return () => {
        if (!isInside) return
        isInside = false
        const next = lane.waiting.shift()
        if (next) return next()
        lane.inside -= 1
        if (lane.inside === 0) lanes.delete(name)
      }
    },
  }
}
