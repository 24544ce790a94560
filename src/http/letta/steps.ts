import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { parseId } from '../../core/id.ts'
import type { StoredStep } from '../../ports/store.ts'
import type { Desk } from '../../service/desk.ts'
import { findStep, listSteps, messagesOfStep } from '../../service/find-steps.ts'
import { refuse } from './errors.ts'
import { messageQuery, pageOf } from './message-page.ts'
import { idIn, parsed } from './parse.ts'
import { chronological, inOrder, requireStepCursors, stepQuery } from './runs.ts'
import { ofTypes, wireMessages } from './wire-message.ts'
import { wireStep } from './wire-run.ts'

export function registerStepRoutes(server: FastifyInstance, desk: Desk): void {
  server.get('/v1/steps', async ({ query }) => {
    const asked = parsed(stepsQuery, query, 'query')
    const agentId = asked.agent_id === undefined ? undefined : parseId('agent', asked.agent_id)
    if (asked.agent_id !== undefined && !agentId) throw refuse(422, 'query.agent_id: not the id of an agent')
    await requireStepCursors(asked, desk)
    const steps = await listSteps(agentId ? { agentId } : {}, chronological(asked), desk)
    return inOrder(steps, asked).map(wireStep)
  })

  server.get('/v1/steps/:step_id', async ({ params }) => wireStep(await requireStep(params, desk)))

  server.get('/v1/steps/:step_id/messages', async ({ params, query }) => {
    const asked = parsed(messageQuery, query, 'query')
    const messages = await messagesOfStep(await requireStep(params, desk), desk)
    return wireMessages(pageOf(messages, asked)).filter(ofTypes(asked.include_return_message_types))
  })
}

const stepsQuery = stepQuery.extend({ agent_id: z.string().optional() })

async function requireStep(params: unknown, desk: Desk): Promise<StoredStep> {
  const id = idIn.step(params)
  const step = await findStep(id, desk)
  if (step) return step
  throw refuse(404, `NOT_FOUND: there is no step ${id}`)
}
