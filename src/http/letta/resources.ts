import type { FastifyInstance } from 'fastify'
import type { Desk } from '../../service/desk.ts'
import { registerAgentBlockRoutes } from './agent-blocks.ts'
import { registerAgentToolRoutes } from './agent-tools.ts'
import { registerAgentRoutes } from './agents.ts'
import { registerBlockRoutes } from './blocks.ts'
import { registerModelRoutes } from './models.ts'
import { registerPassageRoutes } from './passages.ts'
import { registerTagRoutes } from './tags.ts'
import { registerToolRoutes } from './tools.ts'

/** Agents and what they are made of. */
export function registerResourceRoutes(server: FastifyInstance, desk: Desk): void {
  registerAgentRoutes(server, desk)
  registerAgentBlockRoutes(server, desk)
  registerAgentToolRoutes(server, desk)
  registerBlockRoutes(server, desk)
  registerToolRoutes(server, desk)
  registerPassageRoutes(server, desk)
  registerTagRoutes(server, desk)
  registerModelRoutes(server, desk)
}
