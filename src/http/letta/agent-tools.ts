import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { attachTool, detachTool, setApproval, toolsOf } from '../../service/agents/agent-tools.ts'
import { requireAgent as requireAgentById } from '../../service/agents/agents.ts'
import type { Desk } from '../../service/desk.ts'
import { runAgentTool } from '../../service/tools/run-tool.ts'
import type { Routes } from '../routes.ts'
import { refuse } from './errors.ts'
import { listQuery, paged } from './list-query.ts'
import { flag, idIn, parsed, requireAgent } from './parse.ts'
import { runAsked, runBody, wireRan } from './run-tool.ts'
import { agentState, EVERYTHING, isSdk } from './wire/agent-state.ts'
import { wireTool } from './wire/tool.ts'

const TOOLS = '/v1/agents/:agent_id/tools'

/** The client sends the second spelling. */
const approvalBody = z.object({
  requires_approval: z.boolean().nullish(),
  body_requires_approval: z.boolean().nullish(),
})
const approvalQuery = z.object({ requires_approval: flag.optional() })

export function registerAgentToolRoutes(routes: Routes): void {
  routes.get(TOOLS, async ({ params, query }, desk) => {
    const tools = await toolsOf(await requireAgent(params, desk), desk)
    return paged(tools, parsed(listQuery(1000), { order: 'asc', ...(query as object) }, 'query')).map(wireTool)
  })

  routes.patch(`${TOOLS}/attach/:tool_id`, async ({ params, headers }, desk, reply) => {
    const agent = await requireAgent(params, desk)
    await attachTool(agent, idIn.tool(params), desk)
    return answer(reply, { isNull: isSdk(headers), agentId: agent.id }, desk)
  })

  routes.patch(`${TOOLS}/detach/:tool_id`, async ({ params, headers }, desk, reply) => {
    const agent = await requireAgent(params, desk)
    await detachTool(agent, idIn.tool(params), desk)
    return answer(reply, { isNull: isSdk(headers), agentId: agent.id }, desk)
  })

  routes.post(
    `${TOOLS}/:tool_name/run`,
    async ({ params, body, headers }, desk, { raw }) => {
      const asked = runAsked(parsed(runBody, body, 'body'), { headers, raw })
      const agent = await requireAgent(params, desk)
      return wireRan(await runAgentTool(agent, (params as { tool_name: string }).tool_name, { ...asked, desk }))
    },
    { body: runBody },
  )

  routes.patch(
    `${TOOLS}/approval/:tool_name`,
    async ({ params, body, query, headers }, desk, reply) => {
      const agent = await requireAgent(params, desk)
      const said = parsed(approvalBody, body, 'body')
      const asked = parsed(approvalQuery, query, 'query')
      const isRequired = said.requires_approval ?? said.body_requires_approval ?? asked.requires_approval
      if (isRequired === undefined) throw refuse(422, 'body.requires_approval: must be true or false')
      const tool = (params as { tool_name: string }).tool_name
      await setApproval({ agent, tool, isRequired }, desk)
      return answer(reply, { isNull: isSdk(headers), agentId: agent.id }, desk)
    },
    { body: approvalBody, query: approvalQuery },
  )
}

/** Clients of the first generation get the agent back. */
async function answer(reply: FastifyReply, { isNull, agentId }: { isNull: boolean; agentId: string }, desk: Desk) {
  if (isNull) return reply.type('application/json').send('null')
  return agentState(await requireAgentById(agentId, desk), EVERYTHING, desk)
}
