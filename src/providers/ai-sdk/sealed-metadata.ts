import type { SharedV3ProviderMetadata } from '@ai-sdk/provider'

type SealedPartType = 'reasoning' | 'text' | 'call'

/**
 * What a provider of the SDK wants to see again with a part, as a signature. The prefix keeps other dialects from taking
 * it for their own, and says which part it belongs to.
 */
export const seal = (partType: SealedPartType, metadata: SharedV3ProviderMetadata): string =>
  `ai-sdk:${partType}:${JSON.stringify(metadata)}`

/** Undefined for a signature of another dialect or for another place. */
export function unseal(partType: SealedPartType, signature: string | undefined): SharedV3ProviderMetadata | undefined {
  const prefix = `ai-sdk:${partType}:`
  if (!signature?.startsWith(prefix)) return undefined
  try {
    return JSON.parse(signature.slice(prefix.length)) as SharedV3ProviderMetadata
  } catch {
    return undefined
  }
}

/** Metadata comes in pieces: with the start of a part, with its deltas and with its end. */
export function joinMetadata(
  before: SharedV3ProviderMetadata | undefined,
  after: SharedV3ProviderMetadata | undefined,
): SharedV3ProviderMetadata | undefined {
  if (!before || !after) return after ?? before
  const joined = { ...before }
  for (const [provider, fields] of Object.entries(after)) joined[provider] = { ...joined[provider], ...fields }
  return joined
}
