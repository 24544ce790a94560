/** `provider/model`: one entry of a fallback chain. */
export type TargetHandle = `${string}/${string}`

/** The provider that is built in and needs no key. */
export const SCRIPTED = 'scripted'

/** The model of agents that name none, unless the operator sets another (`model` in config.yaml). */
export const DEFAULT_MODEL: TargetHandle = `${SCRIPTED}/friendly`

export type Target = { provider: string; model: string }

export function parseTarget(handle: string): Target | undefined {
  const slash = handle.indexOf('/')
  if (slash < 1 || slash === handle.length - 1) return undefined
  return { provider: handle.slice(0, slash), model: handle.slice(slash + 1) }
}

export const handleOf = ({ provider, model }: Target): TargetHandle => `${provider}/${model}`

export const isTargetHandle = (text: string): text is TargetHandle => parseTarget(text) !== undefined

/** What failures revealed about one model, kept for later turns; see `NOTE_RULES`. */
export type ModelNotes = {
  window?: number
  textOnlyResults?: true
  relaxSchemas?: true
  dropLongContextBeta?: true
  dropEncryptedReasoning?: true
}

export type NoteKind = keyof ModelNotes
