/** How long a worker without a heartbeat is considered alive. */
export const LEASE_MS = 10_000
