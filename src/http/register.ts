import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
  FastifyServerOptions,
} from 'fastify'
import type { z } from 'zod'
import { defined } from '../core/defined.ts'
import { Problem } from '../core/problem.ts'
import type { ServiceContext } from '../service/service-context.ts'
import type { Method, Operation } from './operation.ts'
import { parsed, type RequestPart } from './parse.ts'
import type { Surface } from './surface.ts'

const PARTS: Record<string, RequestPart> = { params: 'path', querystring: 'query', body: 'body' }

/** Fastify checks each part of a request with the schema of its operation, before the handler. */
const checkRequest: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  (value: unknown) => {
    try {
      return { value: parsed(schema, value, PARTS[httpPart ?? 'body']!) }
    } catch (problem) {
      return { error: problem as Error }
    }
  }

type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>

/** Replaces Fastify's own compilers (ajv and fast-json-stringify), which cost a cold start 4 ms to load. */
export const SCHEMA_COMPILERS: Compilers = {
  // The declared types of these factories know JSON Schema only.
  buildValidator: (() => checkRequest) as unknown as NonNullable<Compilers['buildValidator']>,
  buildSerializer: () => () => JSON.stringify,
}

/** Serves every operation of these surfaces. */
export function registerOperations(
  server: FastifyInstance,
  surfaces: readonly Surface[],
  contextOf: (request: FastifyRequest) => ServiceContext,
): void {
  for (const { operations, notServed, errors } of surfaces) {
    for (const operation of operations)
      server.route({
        method: operation.method,
        url: operation.path,
        config: { operation, errors },
        schema: checksOf(operation),
        handler: async (request, reply) => {
          const { params, query, body } = request
          return sendAnswer(await operation.handle({ params, query, body, request, reply }, contextOf(request)), reply)
        },
      })
    for (const { methods = METHODS, path, what } of notServed)
      server.route({
        method: methods,
        url: path,
        config: { errors },
        handler: async () => {
          throw new Problem('not-served', `Holdfast does not serve this yet: ${what}.`)
        },
      })
  }
}

const METHODS: Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * What Fastify checks before the handler is called. Answers are not checked here but by the compiler and by tests: a
 * check of each would make reads a fifth slower (`decisions/016`).
 */
const checksOf = ({ params, query, body }: Operation) => defined({ params, querystring: query, body })

/** Fastify sends null and text as they are; here they are JSON like every other answer. */
function sendAnswer(answer: unknown, reply: FastifyReply): unknown {
  if (answer === undefined) return reply.code(204).send()
  if (answer !== null && typeof answer !== 'string') return answer
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer))
}

/** The operation a request is for; undefined where nothing is served. */
export const operationOf = ({ routeOptions }: FastifyRequest): Operation | undefined => routeOptions.config.operation
