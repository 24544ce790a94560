/** `provider/model`: one entry of a fallback chain. */
export type TargetHandle = `${string}/${string}`

export type Target = { provider: string; model: string }

export function parseTarget(handle: string): Target | undefined {
  const slash = handle.indexOf('/')
  if (slash < 1 || slash === handle.length - 1) return undefined
  return { provider: handle.slice(0, slash), model: handle.slice(slash + 1) }
}

export const handleOf = ({ provider, model }: Target): TargetHandle => `${provider}/${model}`

export const isTargetHandle = (text: string): text is TargetHandle => parseTarget(text) !== undefined

/** Limits of one model learned from failures, stored for later turns. */
export type ModelNotes = { window?: number; textOnlyResults?: true }
