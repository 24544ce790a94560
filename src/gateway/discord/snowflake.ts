/** Ids of Discord begin with the time of their creation. */
const EPOCH_MS = 1_420_070_400_000

export const snowflakeAt = (ms: number): string => String(BigInt(Math.max(0, Math.floor(ms - EPOCH_MS))) << 22n)
