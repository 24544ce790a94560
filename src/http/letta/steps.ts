import { z } from 'zod'
import { parseId } from '../../core/id.ts'
import type { StoredStep } from '../../ports/store.ts'
import type { Desk } from '../../service/desk.ts'
import { findStep, listSteps, measureStep, messagesOfStep, rateStep } from '../../service/runs/steps.ts'
import type { Routes } from '../routes.ts'
import { refuse } from './errors.ts'
import { messageQuery, pageOf } from './message-page.ts'
import { idIn, parsed } from './parse.ts'
import { chronological, inOrder, requireStepCursors, stepQuery } from './runs.ts'
import { ofTypes, wireMessages } from './wire/message.ts'
import { wireStep } from './wire/run.ts'

export function registerStepRoutes(routes: Routes): void {
  routes.get(
    '/v1/steps',
    async ({ query }, desk) => {
      const asked = parsed(stepsQuery, query, 'query')
      const agentId = asked.agent_id === undefined ? undefined : parseId('agent', asked.agent_id)
      if (asked.agent_id !== undefined && !agentId) throw refuse(422, 'query.agent_id: not the id of an agent')
      await requireStepCursors(asked, desk)
      const steps = await listSteps(agentId ? { agentId } : {}, chronological(asked), desk)
      return inOrder(steps, asked).map(wireStep)
    },
    { query: stepsQuery },
  )

  routes.get('/v1/steps/:step_id', async ({ params }, desk) => wireStep(await requireStep(params, desk)))

  routes.get(
    '/v1/steps/:step_id/messages',
    async ({ params, query }, desk) => {
      const asked = parsed(messageQuery, query, 'query')
      const messages = await messagesOfStep(await requireStep(params, desk), desk)
      return wireMessages(pageOf(messages, asked)).filter(ofTypes(asked.include_return_message_types))
    },
    { query: messageQuery },
  )

  routes.get('/v1/steps/:step_id/metrics', async ({ params }, desk) => {
    const step = await requireStep(params, desk)
    const times = await measureStep(step, desk)
    const nanoseconds = (ms: number | undefined) => (ms === undefined ? null : ms * NANOSECONDS_PER_MILLISECOND)
    return {
      ...{ id: step.id, run_id: step.runId, agent_id: step.agentId, provider_id: null, project_id: null },
      ...{ step_start_ns: nanoseconds(times?.startedAt), llm_request_start_ns: nanoseconds(times?.startedAt) },
      ...{ llm_request_ns: nanoseconds(times?.modelMs), tool_execution_ns: nanoseconds(times?.toolsMs) },
      ...{ step_ns: nanoseconds(times?.totalMs), base_template_id: null, template_id: null },
    }
  })

  /** What was sent to a provider word by word is not kept; `runs/{id}/attempts` and `events` tell what came of it. */
  routes.get('/v1/steps/:step_id/trace', async ({ params }, desk, reply) => {
    await requireStep(params, desk)
    return reply.type('application/json; charset=utf-8').send('null')
  })

  routes.patch(
    '/v1/steps/:step_id/feedback',
    async ({ params, body }, desk) => {
      const { id } = await requireStep(params, desk)
      const { feedback, tags } = parsed(feedbackBody, body, 'body')
      const rated = await rateStep(id, { ...(feedback ? { feedback } : {}), ...(tags ? { tags } : {}) }, desk)
      if (!rated) throw refuse(404, `NOT_FOUND: there is no step ${id}`)
      return wireStep(rated)
    },
    { body: feedbackBody },
  )
}

const NANOSECONDS_PER_MILLISECOND = 1_000_000

const feedbackBody = z.object({
  feedback: z.enum(['positive', 'negative']).nullish(),
  tags: z.array(z.string().max(200)).max(100).nullish(),
})

const stepsQuery = stepQuery.extend({ agent_id: z.string().optional() })

async function requireStep(params: unknown, desk: Desk): Promise<StoredStep> {
  const id = idIn.step(params)
  const step = await findStep(id, desk)
  if (step) return step
  throw refuse(404, `NOT_FOUND: there is no step ${id}`)
}
