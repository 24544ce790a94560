import { z } from 'zod'
import type { ServiceContext } from '../../service/service-context.ts'
import { operation } from '../operation.ts'
import { listAgentModels, requireAgentModel } from './agent-model.ts'
import { seconds } from './response-object.ts'

const modelSchema = z.lazy(() =>
  z
    .object({ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.literal('holdfast') })
    .meta({ id: 'OpenaiModel', description: 'An agent, as a model.' }),
)

const toModel = (id: string, createdAt: number) => ({
  id,
  object: 'model' as const,
  created: seconds(createdAt),
  owned_by: 'holdfast' as const,
})

const listModels = operation({
  route: 'GET /openai/v1/models',
  scope: 'read',
  group: 'openai',
  summary: 'Lists the agents as models, each also with `/once` for questions that leave no memory',
  answer: z.lazy(() => z.object({ object: z.literal('list'), data: z.array(modelSchema) })),
  async handle(_, context) {
    const models = await listAgentModels(context)
    const embedding = embeddingModel(context)
    return {
      object: 'list' as const,
      data: [
        ...models.map(({ id, createdAt }) => toModel(id, createdAt)),
        ...(embedding ? [toModel(embedding, 0)] : []),
      ],
    }
  },
})

const retrieveModel = operation({
  route: 'GET /openai/v1/models/:model',
  scope: 'read',
  group: 'openai',
  summary: 'Shows an agent as a model',
  params: { model: z.string().max(600).describe('`agent:<name>` or the id of an agent, encoded.') },
  answer: modelSchema,
  async handle({ params: { model } }, context) {
    if (model === embeddingModel(context)) return toModel(model, 0)
    const { agent } = await requireAgentModel(model, context)
    return toModel(model, agent.createdAt)
  },
})

const embeddingModel = ({ embeddings }: ServiceContext): string | undefined => embeddings.defaultModel

export const modelOperations = [listModels, retrieveModel]
