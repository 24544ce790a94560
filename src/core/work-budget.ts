/** Counts the steps of work on a text or schema of a stranger, so that it ends before other requests wait for it. */
export type WorkBudget = {
  /** Throws `OverBudget` if no steps are left. */
  spend(steps: number): void
}

export class OverBudget extends Error {}

export function newWorkBudget(steps: number): WorkBudget {
  let left = steps
  return {
    spend(wanted) {
      left -= wanted
      if (left < 0) throw new OverBudget(`more than ${steps} steps of work`)
    },
  }
}
