import { z } from 'zod'
import { listModels } from '../../service/providers/models.ts'
import { texts } from '../field.ts'
import { withoutEffect } from '../field-fate.ts'
import { operation } from '../operation.ts'
import { embeddingModelSchema, modelSchema, wireEmbedding, wireModel } from './wire/model.ts'

/** Providers that do not answer within this time are listed without their models. */
const LIST_WAIT_MS = 10_000

const listModelsOperation = operation({
  route: 'GET /v1/models',
  scope: 'read',
  summary: 'Lists the models that agents can use',
  query: z.object({
    provider_name: z.string().optional().describe('Models of this provider only.'),
    provider_category: withoutEffect(texts.optional(), 'providers have no categories, so all are listed.', (value) =>
      [value].flat().some((category) => category !== 'base'),
    ),
  }),
  answer: z.array(modelSchema),
  async handle({ query: { provider_name } }, context) {
    const all = await listModels({ signal: AbortSignal.timeout(LIST_WAIT_MS) }, context)
    const wanted = all.filter(({ provider }) => provider_name === undefined || provider === provider_name)
    return wanted.flatMap(({ models }) => models.map(wireModel))
  },
})

const listEmbeddingModels = operation({
  route: 'GET /v1/models/embedding',
  scope: 'read',
  summary: 'Lists the embedding model of this server, if it has one; without one, search uses keywords only',
  answer: z.array(embeddingModelSchema),
  async handle(_, context) {
    const { defaultModel } = context.embeddings
    return defaultModel ? [wireEmbedding(defaultModel, context)] : []
  },
})

export const modelOperations = [listModelsOperation, listEmbeddingModels]
