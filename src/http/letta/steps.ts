import { z } from 'zod'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import { listSteps, measureStep, messagesOfStep, rateStep } from '../../service/runs/steps.ts'
import { id } from '../field.ts'
import { operation } from '../operation.ts'
import { assistantToolOf } from './assistant-tool.ts'
import { messageQuery, pageOfMessages } from './message-page.ts'
import { requireStep, stepPath } from './path-params.ts'
import { inOrder, requireStepCursors, stepQuery, toRunPage } from './run-page.ts'
import { ofTypes, wireMessages } from './wire/message.ts'
import { messageSchema } from './wire/message-schema.ts'
import { stepMetricsSchema, stepSchema, wireStep, wireStepMetrics } from './wire/step.ts'

const listStepsOperation = operation({
  route: 'GET /v1/steps',
  scope: 'read',
  summary: 'Lists steps',
  query: stepQuery.extend({ agent_id: id('agent').optional().describe('Steps of this agent only.') }),
  answer: z.array(stepSchema),
  async handle({ query }, context) {
    await requireStepCursors(query, context)
    const steps = await listSteps(query.agent_id ? { agentId: query.agent_id } : {}, toRunPage(query), context)
    return inOrder(steps, query).map(wireStep)
  },
})

const showStep = operation({
  route: 'GET /v1/steps/:step_id',
  scope: 'read',
  summary: 'Shows a step',
  params: stepPath,
  answer: stepSchema,
  handle: async ({ params }, context) => wireStep(await requireStep(params.step_id, context)),
})

const listStepMessages = operation({
  route: 'GET /v1/steps/:step_id/messages',
  scope: 'read',
  summary: 'Lists the messages of a step',
  params: stepPath,
  query: messageQuery,
  answer: z.array(messageSchema),
  async handle({ params, query }, context) {
    const messages = await messagesOfStep(await requireStep(params.step_id, context), context)
    const speaking = assistantToolOf(query)
    return wireMessages(pageOfMessages(messages, query), speaking).filter(ofTypes(query.include_return_message_types))
  },
})

const showStepMetrics = operation({
  route: 'GET /v1/steps/:step_id/metrics',
  scope: 'read',
  summary: 'Shows how long a step took in total, in the model and in tools',
  params: stepPath,
  answer: stepMetricsSchema,
  async handle({ params }, context) {
    const step = await requireStep(params.step_id, context)
    return wireStepMetrics(step, await measureStep(step, context))
  },
})

const showStepTrace = operation({
  route: 'GET /v1/steps/:step_id/trace',
  scope: 'read',
  summary: 'Always null: provider requests are not stored. Use `/v1/runs/{id}/attempts` and `/v1/runs/{id}/events`',
  params: stepPath,
  answer: z.null(),
  async handle({ params }, context) {
    await requireStep(params.step_id, context)
    return null
  },
})

const rateStepOperation = operation({
  route: 'PATCH /v1/steps/:step_id/feedback',
  scope: 'agent',
  summary: 'Stores feedback on a step',
  audit: 'none',
  params: stepPath,
  body: z.object({
    feedback: z.enum(['positive', 'negative']).nullish().describe('Rating of the step.'),
    tags: z.array(z.string().max(200)).max(100).nullish().describe('Tags to find the step by.'),
  }),
  example: { feedback: 'positive' },
  answer: stepSchema,
  async handle({ params, body: { feedback, tags } }, context) {
    const { id: stepId } = await requireStep(params.step_id, context)
    const rated = await rateStep(stepId, defined({ feedback: feedback ?? undefined, tags: tags ?? undefined }), context)
    if (!rated) throw new Problem('not-found', `There is no step "${stepId}".`)
    return wireStep(rated)
  },
})

export const stepOperations = [
  listStepsOperation,
  showStep,
  listStepMessages,
  showStepMetrics,
  showStepTrace,
  rateStepOperation,
]
