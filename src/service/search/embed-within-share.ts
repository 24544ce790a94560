import type { OrganizationId } from '../../core/id.ts'
import { handleOf, type Target } from '../../core/target.ts'
import { textTokens } from '../../core/token-estimate.ts'
import type { Embeddings, EmbedOptions, EmbedResult } from '../../ports/embeddings.ts'
import type { Shares } from '../../ports/shares.ts'

/** Who pays for an embedding. Without `shares` no organization has limits. */
export type EmbeddingPayer = { organizationId: OrganizationId; shares?: Shares | undefined }

type EmbedRequest = { target: Target; texts: readonly string[]; payer: EmbeddingPayer }

/** Embeds texts in the share of their organization: their estimated tokens are reserved first, and stay if the model answered. */
export async function embedWithinShare(
  { target, texts, payer: { organizationId, shares } }: EmbedRequest,
  options: EmbedOptions,
  { embedder }: Pick<Embeddings, 'embedder'>,
): Promise<EmbedResult> {
  const promptTokens = texts.reduce((sum, text) => sum + textTokens(text), 0)
  const reserved = await shares?.reserve({ organizationId, handle: handleOf(target), promptTokens, outputTokens: 0 })
  if (reserved?.type === 'refused')
    return { type: 'failure', failure: { kind: 'spending-limit', detail: `${reserved.detail}; no text was sent` } }
  const answer = await embedder.embed(target, texts, options)
  if (answer.type === 'failure' && !answer.failure.mayHaveBeenAccepted)
    await reserved?.settle({ promptTokens: 0, completionTokens: 0 })
  return answer
}
