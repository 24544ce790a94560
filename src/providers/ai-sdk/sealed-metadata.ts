import type { SharedV3ProviderMetadata } from '@ai-sdk/provider'

type SealedPartType = 'reasoning' | 'text' | 'call'

/**
 * Packs the metadata that a provider of the SDK needs back with a part into a signature. The prefix keeps it apart from
 * the signatures of other dialects and names the part type.
 */
export const seal = (partType: SealedPartType, metadata: SharedV3ProviderMetadata): string =>
  `ai-sdk:${partType}:${JSON.stringify(metadata)}`

/** Undefined for a signature of another dialect or another part type. */
export function unseal(partType: SealedPartType, signature: string | undefined): SharedV3ProviderMetadata | undefined {
  const prefix = `ai-sdk:${partType}:`
  if (!signature?.startsWith(prefix)) return undefined
  try {
    return JSON.parse(signature.slice(prefix.length)) as SharedV3ProviderMetadata
  } catch {
    return undefined
  }
}

/** Merges metadata, which arrives with the start of a part, its deltas and its end. */
export function joinMetadata(
  before: SharedV3ProviderMetadata | undefined,
  after: SharedV3ProviderMetadata | undefined,
): SharedV3ProviderMetadata | undefined {
  if (!before || !after) return after ?? before
  const joined = { ...before }
  for (const [provider, fields] of Object.entries(after)) joined[provider] = { ...joined[provider], ...fields }
  return joined
}
