import type { Agent } from '../../../core/agent.ts'
import { parseTarget, type TargetHandle } from '../../../core/target.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import { wireEmbedding } from './model.ts'

type WireEmbeddingConfig = Record<string, unknown>

/** What clients before 1.0 get where passages and messages are searched by words only. */
const NO_EMBEDDING: WireEmbeddingConfig = {
  embedding_endpoint_type: 'openai',
  embedding_endpoint: null,
  embedding_model: 'none',
  embedding_dim: 0,
  embedding_chunk_size: null,
  handle: null,
  batch_size: 64,
}

/** The configuration that was sent, unless it belongs to another model than the one in use. */
export function embeddingConfig(
  agent: Agent,
  { isRequired }: { isRequired: boolean },
  context: ServiceContext,
): WireEmbeddingConfig | null {
  const { embedding, embedding_config: sent } = agent.settings?.wire ?? {}
  const handle = typeof embedding === 'string' && parseTarget(embedding) ? embedding : undefined
  if (isConfig(sent) && (handle === undefined || handleIn(sent) === undefined || handleIn(sent) === handle)) return sent
  const used = (handle ?? context.embeddings.defaultModel) as TargetHandle | undefined
  if (used === undefined) return isRequired ? NO_EMBEDDING : null
  const {
    embedding_endpoint_type,
    embedding_endpoint,
    embedding_model,
    embedding_dim,
    embedding_chunk_size,
    batch_size,
  } = wireEmbedding(used, context)
  return {
    embedding_endpoint_type,
    embedding_endpoint,
    embedding_model,
    embedding_dim,
    embedding_chunk_size,
    handle: used,
    batch_size,
  }
}

const isConfig = (value: unknown): value is WireEmbeddingConfig =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0

const handleIn = ({ handle }: WireEmbeddingConfig): string | undefined =>
  typeof handle === 'string' ? handle : undefined
