/** How long a worker that says nothing is taken to be alive. */
export const LEASE_MS = 10_000
