import type { JsonObject } from '../../core/json.ts'
import { Problem } from '../../core/problem.ts'
import { isTargetHandle, parseTarget, type TargetHandle } from '../../core/target.ts'
import { currentHandle } from '../../service/providers/retired-handles.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { withKnownSummarizer } from './compaction-body.ts'
import { renamedHandle } from './model-handle.ts'

type NamedModels = {
  compaction_settings?: JsonObject | null | undefined
  embedding?: string | null | undefined
}

/**
 * The models of an agent besides its chain, under their present names, and what the response says about them. Applications
 * of the retired server name an embedding model in every agent, so one that no provider serves is no reason to refuse it.
 */
export function withKnownModels<T extends NamedModels>(
  body: T,
  context: ServiceContext,
): { body: T; warnings: string[] } {
  const compaction = withKnownSummarizer(body.compaction_settings, context)
  const embedding = body.embedding ? currentEmbedding(body.embedding, context) : body.embedding
  return {
    body: { ...body, compaction_settings: compaction, embedding },
    warnings: [
      ...renamedHandle('compaction_settings.model', modelIn(body.compaction_settings), modelIn(compaction)),
      ...renamedHandle('embedding', body.embedding, embedding ?? undefined),
      ...(embedding && !isEmbedded(embedding, context) ? [`embedding: ${withoutModel(embedding, context)}`] : []),
    ],
  }
}

const modelIn = (settings: JsonObject | null | undefined): string | undefined =>
  typeof settings?.model === 'string' ? settings.model : undefined

export function isEmbedded(handle: string, { embeddings }: ServiceContext): boolean {
  const target = parseTarget(handle)
  return target !== undefined && embeddings.embedder.serves(target)
}

function withoutModel(handle: string, { embeddings }: ServiceContext): string {
  const usual = embeddings.defaultModel
  const instead = usual ? `${usual} takes its place` : 'passages are found by words'
  return `no configured provider serves ${handle.slice(0, 200)} for embeddings, so ${instead}.`
}

/** A handle of the retired server under its present name; one without an equivalent stays as it is. */
export function currentEmbedding<T extends string | undefined>(handle: T, context: ServiceContext): T | TargetHandle {
  if (handle === undefined || !isTargetHandle(handle)) return handle
  try {
    return currentHandle(handle, context)
  } catch (fault) {
    if (fault instanceof Problem) return handle
    throw fault
  }
}
