import { z } from 'zod'
import { Problem } from '../../core/problem.ts'
import { isTargetHandle, parseTarget, type Target } from '../../core/target.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { refusedValue, withoutEffect } from '../field-fate.ts'
import { operation } from '../operation.ts'

const MOST_TEXTS = 2_048
const text = z.string().min(1, 'must not be empty').max(200_000)
const NO_TOKENS = 'must be a text or a list of texts: tokens are not supported'

const createEmbedding = operation({
  route: 'POST /openai/v1/embeddings',
  scope: 'agent',
  group: 'openai',
  summary: 'Turns texts into vectors with the embedding model of this server',
  audit: 'none',
  body: z.object({
    model: z.string().min(1).max(200).describe('The embedding model, as provider/model or by its name alone.'),
    input: z
      .union([text, z.array(text).min(1).max(MOST_TEXTS)], { error: NO_TOKENS })
      .describe('A text, or a list of texts.'),
    encoding_format: z.enum(['float', 'base64']).nullish().describe('Form of the vectors. Default: `float`.'),
    dimensions: refusedValue('the model decides how long its vectors are.'),
    user: withoutEffect(z.string().nullish(), 'it is not passed on to providers.'),
  }),
  example: { model: 'text-embedding-3-small', input: 'Hello' },
  answer: z.lazy(() =>
    z.object({
      object: z.literal('list'),
      model: z.string(),
      data: z.array(
        z.object({
          object: z.literal('embedding'),
          index: z.int(),
          embedding: z.union([z.array(z.number()), z.string().describe('Little-endian floats as base64.')]),
        }),
      ),
      usage: z
        .object({ prompt_tokens: z.int(), total_tokens: z.int() })
        .describe('Always 0: embedding providers are not asked for it.'),
    }),
  ),
  async handle({ body: { model, input, encoding_format }, request }, context) {
    const target = requireEmbeddingModel(model, context)
    const texts = typeof input === 'string' ? [input] : input
    const left = AbortSignal.any([request.server.serverContext.closing, AbortSignal.timeout(TIMEOUT_MS)])
    const answer = await context.embeddings.embedder.embed(target, texts, { purpose: 'storage', signal: left })
    if (answer.type === 'failure') {
      const { kind, detail } = answer.failure
      throw new Problem('peer-failed', `The embedding model failed: ${detail}`, { code: kind })
    }
    return {
      object: 'list' as const,
      model,
      data: answer.vectors.map((vector, index) => ({
        object: 'embedding' as const,
        index,
        embedding: encoding_format === 'base64' ? base64Of(vector) : vector,
      })),
      usage: { prompt_tokens: 0, total_tokens: 0 },
    }
  },
})

export const embeddingOperations = [createEmbedding]

const TIMEOUT_MS = 120_000

/** The configured model, by its handle or its name alone. */
function requireEmbeddingModel(name: string, { embeddings }: ServiceContext): Target {
  const { defaultModel, embedder } = embeddings
  const usual = defaultModel && parseTarget(defaultModel)
  if (usual && (name === defaultModel || name === usual.model)) return usual
  const target = isTargetHandle(name) ? parseTarget(name) : undefined
  if (target && embedder.serves(target)) return target
  const way = defaultModel ? `This server embeds with "${defaultModel}".` : 'Set `embedding` in config.yaml.'
  throw new Problem('not-found', `The embedding model "${name}" is not configured. ${way}`, {
    param: 'model',
    code: 'model_not_found',
  })
}

const base64Of = (vector: readonly number[]): string => Buffer.from(new Float32Array(vector).buffer).toString('base64')
