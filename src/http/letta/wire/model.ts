import { z } from 'zod'
import { DEFAULT_WINDOW } from '../../../core/context-window.ts'
import { parseTarget, type TargetHandle } from '../../../core/target.ts'
import type { KnownModel } from '../../../service/providers/models.ts'
import type { ServiceContext } from '../../../service/service-context.ts'
import { endpointType } from '../model-handle.ts'
import { always, alwaysNull } from './constant-field.ts'

export const modelSchema = z.lazy(() =>
  z
    .object({
      name: z.string().describe('Model without its provider.'),
      model: z.string().describe('The same as `name`.'),
      handle: z.string().describe('Model as provider/model, as agents have it in `model`.'),
      display_name: z.string().describe('The same as `name`.'),
      model_type: z.literal('llm'),
      provider_name: z.string().describe('Provider as it is configured.'),
      provider_type: z.string().describe('API that the provider speaks.'),
      provider_category: always('base'),
      model_endpoint_type: z.string().describe('The same as `provider_type`.'),
      model_endpoint: alwaysNull,
      context_window: z.int().describe('Context window in tokens; 128000 when it is not known.'),
      max_context_window: z.int().describe('The same as `context_window`.'),
      max_tokens: z.int().nullable().describe('Maximum number of tokens of one answer; null when it is not known.'),
      temperature: always(1),
      model_wrapper: alwaysNull,
      put_inner_thoughts_in_kwargs: always(false),
      enable_reasoner: always(true),
      reasoning_effort: alwaysNull,
      max_reasoning_tokens: always(0),
      frequency_penalty: alwaysNull,
      compatibility_type: alwaysNull,
      verbosity: alwaysNull,
      tier: alwaysNull,
      parallel_tool_calls: always(true),
      strict: always(false),
      effort: alwaysNull,
      response_format: alwaysNull,
      return_logprobs: always(false),
    })
    .meta({ id: 'Model', description: 'A model that a configured provider serves.' }),
)

type WireModel = z.output<typeof modelSchema>

export function wireModel({ handle, window, maxOutput }: KnownModel): WireModel {
  const { provider, model } = parseTarget(handle)!
  const type = endpointType(provider)
  const contextWindow = window?.tokens ?? DEFAULT_WINDOW
  return {
    name: model,
    model,
    handle,
    display_name: model,
    model_type: 'llm',
    provider_name: provider,
    provider_type: type,
    provider_category: 'base',
    model_endpoint_type: type,
    model_endpoint: null,
    context_window: contextWindow,
    max_context_window: contextWindow,
    max_tokens: maxOutput ?? null,
    temperature: 1,
    model_wrapper: null,
    put_inner_thoughts_in_kwargs: false,
    enable_reasoner: true,
    reasoning_effort: null,
    max_reasoning_tokens: 0,
    frequency_penalty: null,
    compatibility_type: null,
    verbosity: null,
    tier: null,
    parallel_tool_calls: true,
    strict: false,
    effort: null,
    response_format: null,
    return_logprobs: false,
  }
}

export const embeddingModelSchema = z.lazy(() =>
  z
    .object({
      name: z.string().describe('Model without its provider.'),
      display_name: z.string().describe('The same as `name`.'),
      handle: z.string().describe('Model as provider/model.'),
      model_type: z.literal('embedding'),
      provider_name: z.string().describe('Provider as it is configured.'),
      provider_type: z.string().describe('API that the provider speaks.'),
      embedding_model: z.string().describe('The same as `name`.'),
      embedding_endpoint_type: z.string().describe('The same as `provider_type`.'),
      embedding_endpoint: alwaysNull,
      embedding_dim: z.int().describe('Dimensions of a vector; 0 until the model has returned the first one.'),
      embedding_chunk_size: alwaysNull,
      batch_size: z.literal(64).describe('Maximum number of texts in one request.'),
      azure_deployment: alwaysNull,
      azure_endpoint: alwaysNull,
      azure_version: alwaysNull,
    })
    .meta({ id: 'EmbeddingModel', description: 'The model that search by meaning uses.' }),
)

type WireEmbeddingModel = z.output<typeof embeddingModelSchema>

export function wireEmbedding(handle: TargetHandle, { embeddings }: ServiceContext): WireEmbeddingModel {
  const target = parseTarget(handle)!
  const { provider, model } = target
  const type = endpointType(provider)
  return {
    name: model,
    display_name: model,
    handle,
    model_type: 'embedding',
    provider_name: provider,
    provider_type: type,
    embedding_model: model,
    embedding_endpoint_type: type,
    embedding_endpoint: null,
    embedding_dim: embeddings?.embedder.dimensionsOf(target) ?? 0,
    embedding_chunk_size: null,
    batch_size: 64,
    azure_deployment: null,
    azure_endpoint: null,
    azure_version: null,
  }
}
