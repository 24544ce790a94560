import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { parseTarget } from '../../core/target.ts'
import type { Desk } from '../../service/desk.ts'
import { type KnownModel, listModels } from '../../service/list-models.ts'
import { endpointType, USUAL_WINDOW } from './model-handle.ts'
import { parsed, texts } from './parse.ts'

/** Providers that do not answer by then are told without their lists. */
const PATIENCE_MS = 10_000

const modelQuery = z.object({ provider_name: z.string().optional(), provider_category: texts.optional() })

export function registerModelRoutes(server: FastifyInstance, desk: Desk): void {
  server.get('/v1/models', async ({ query }) => {
    const { provider_name } = parsed(modelQuery, query, 'query')
    const all = await listModels({ signal: AbortSignal.timeout(PATIENCE_MS) }, desk)
    const wanted = all.filter(({ provider }) => provider_name === undefined || provider === provider_name)
    return wanted.flatMap(({ models }) => models.map(wireModel))
  })

  // Searches go by words; there is no embedding model yet.
  server.get('/v1/models/embedding', async () => [])
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
