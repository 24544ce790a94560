import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Desk } from '../service/desk.ts'

export type Handler = (request: FastifyRequest, desk: Desk, reply: FastifyReply) => unknown

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What the description of the API says of a route. The schemas are the very ones its handler checks with. */
export type RouteNotes = {
  summary?: string
  body?: z.ZodType
  query?: z.ZodType
  /** Where it stands on the page; by its path if nothing is said. */
  group?: string
}

export type DescribedRoute = RouteNotes & { method: Method; path: string }

type Add = (path: string, handler: Handler, notes?: RouteNotes) => void

/** How a resource adds its routes: each request is handed the desk of whoever sent it. */
export type Routes = { get: Add; post: Add; put: Add; patch: Add; delete: Add; readonly described: DescribedRoute[] }

export function routesOf(server: FastifyInstance, deskOf: (request: FastifyRequest) => Desk): Routes {
  const described: DescribedRoute[] = []
  const add =
    (method: Method): Add =>
    (url, handler, notes = {}) => {
      described.push({ method, path: url, ...notes })
      server.route({ method, url, handler: async (request, reply) => handler(request, deskOf(request), reply) })
    }
  return {
    ...{ get: add('GET'), post: add('POST'), put: add('PUT'), patch: add('PATCH'), delete: add('DELETE') },
    described,
  }
}
