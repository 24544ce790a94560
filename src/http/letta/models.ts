import { z } from 'zod'
import { parseTarget, type TargetHandle } from '../../core/target.ts'
import type { Desk } from '../../service/desk.ts'
import { type KnownModel, listModels } from '../../service/providers/models.ts'
import type { Routes } from '../routes.ts'
import { endpointType, USUAL_WINDOW } from './model-handle.ts'
import { parsed, texts } from './parse.ts'

/** Providers that do not answer by then are told without their lists. */
const PATIENCE_MS = 10_000

const modelQuery = z.object({ provider_name: z.string().optional(), provider_category: texts.optional() })

export function registerModelRoutes(routes: Routes): void {
  routes.get(
    '/v1/models',
    async ({ query }, desk) => {
      const { provider_name } = parsed(modelQuery, query, 'query')
      const all = await listModels({ signal: AbortSignal.timeout(PATIENCE_MS) }, desk)
      const wanted = all.filter(({ provider }) => provider_name === undefined || provider === provider_name)
      return wanted.flatMap(({ models }) => models.map(wireModel))
    },
    { query: modelQuery },
  )

  // Without one, searches go by words.
  routes.get('/v1/models/embedding', async (_, desk) => {
    const { usual } = desk.embeddings
    return usual ? [wireEmbedding(usual, desk)] : []
  })
}

function wireEmbedding(handle: TargetHandle, { embeddings }: Desk) {
  const target = parseTarget(handle)!
  const { provider, model } = target
  const type = endpointType(provider)
  return {
    ...{ name: model, display_name: model, handle, model_type: 'embedding', provider_name: provider },
    ...{ provider_type: type, embedding_model: model, embedding_endpoint_type: type, embedding_endpoint: null },
    // 0 until the first vector came: only the model itself knows.
    ...{ embedding_dim: embeddings?.embedder.dimensionsOf(target) ?? 0, embedding_chunk_size: null, batch_size: 64 },
    ...{ azure_deployment: null, azure_endpoint: null, azure_version: null },
  }
}

function wireModel({ handle, window, maxOutput }: KnownModel) {
  const { provider, model } = parseTarget(handle)!
  const type = endpointType(provider)
  const context_window = window?.tokens ?? USUAL_WINDOW
  return {
    ...{ name: model, model, handle, display_name: model, model_type: 'llm', provider_name: provider },
    ...{ provider_type: type, provider_category: 'base', model_endpoint_type: type, model_endpoint: null },
    ...{ context_window, max_context_window: context_window, max_tokens: maxOutput ?? null, temperature: 1 },
    ...{ model_wrapper: null, put_inner_thoughts_in_kwargs: false, enable_reasoner: true, reasoning_effort: null },
    ...{ max_reasoning_tokens: 0, frequency_penalty: null, compatibility_type: null, verbosity: null, tier: null },
    ...{ parallel_tool_calls: true, strict: false, effort: null, response_format: null, return_logprobs: false },
  }
}
