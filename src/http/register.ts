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
import { fieldsWithoutEffect } from './field-fate.ts'
import { listText } from './list-text.ts'
import type { Method, Operation } from './operation.ts'
import { parsed, type RequestPart } from './parse.ts'
import type { Surface } from './surface.ts'
import { addWarnings } from './warnings.ts'

const PARTS: Record<string, RequestPart> = { params: 'path', querystring: 'query', body: 'body' }

/** Fastify calls this to validate each part of a request before the handler runs. */
const checkRequest: FastifySchemaCompiler<z.ZodType> =
  ({ schema, httpPart }) =>
  (value: unknown) => {
    try {
      const read = parsed(schema, value, PARTS[httpPart ?? 'body']!)
      noteWithoutEffect(read, schema, value)
      return { value: read }
    } catch (problem) {
      return { error: problem as Error }
    }
  }

/** By the validated part of a request: its fields without effect. Validation removes those that no schema knows. */
const withoutEffect = new WeakMap<object, string[]>()

function noteWithoutEffect(read: unknown, schema: z.ZodType, value: unknown): void {
  const sentences = fieldsWithoutEffect(schema, value)
  if (sentences.length > 0 && read !== null && typeof read === 'object') withoutEffect.set(read, sentences)
}

const warningsOf = (...parts: unknown[]): string[] =>
  parts.flatMap((part) => (part !== null && typeof part === 'object' ? (withoutEffect.get(part) ?? []) : []))

type Compilers = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>

/** Replaces Fastify's own compilers (ajv and fast-json-stringify), which add 4 ms to a cold start. */
export const SCHEMA_COMPILERS: Compilers = {
  // The types of these factories allow JSON Schema only.
  buildValidator: (() => checkRequest) as unknown as NonNullable<Compilers['buildValidator']>,
  buildSerializer: () => () => JSON.stringify,
}

type RequestScope = {
  contextOf(request: FastifyRequest): ServiceContext
  /** Runs a handler with its entry in the audit log. */
  perform<T>(request: FastifyRequest, work: () => T | Promise<T>): T | Promise<T>
}

/** Registers every operation of these surfaces with Fastify. */
export function registerOperations(
  server: FastifyInstance,
  surfaces: readonly Surface[],
  { contextOf, perform }: RequestScope,
): void {
  for (const { operations, notServed, errors, refusal } of surfaces) {
    for (const operation of operations)
      server.route({
        method: operation.method,
        url: operation.path,
        config: { operation, errors, ...defined({ refusal }) },
        schema: checksOf(operation),
        handler: async (request, reply) => {
          const { params, query, body } = request
          contextOf(request).deps.activity?.note(`${operation.method} ${operation.path}`)
          addWarnings(reply, warningsOf(query, body))
          const call = { params, query, body, request, reply }
          const answer = await perform(request, () => operation.handle(call, contextOf(request)))
          return sendAnswer(answer, { operation, reply })
        },
      })
    for (const { methods = METHODS, path, what } of notServed)
      server.route({
        method: methods,
        url: path,
        config: { errors, ...defined({ refusal }) },
        handler: async () => {
          throw new Problem('not-served', `Holdfast does not serve this yet: ${what}.`)
        },
      })
  }
}

const METHODS: Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * The schemas that Fastify validates before the handler. Answers are checked by the compiler and by tests instead:
 * validating each of them would make reads a fifth slower (`decisions/016`).
 */
const checksOf = ({ params, query, body }: Operation) => defined({ params, querystring: query, body })

/** Sends null and text as JSON, like every other answer; Fastify would send them as they are. */
async function sendAnswer(answer: unknown, { operation, reply }: { operation: Operation; reply: FastifyReply }) {
  if (answer === undefined) return reply.code(204).send()
  const isText = answer === null || typeof answer === 'string'
  if (!isText && !isList(answer, operation)) return answer
  const json = isText ? JSON.stringify(answer) : await listText(answer)
  return reply.type('application/json; charset=utf-8').send(json)
}

/** Of the operations with a page size, what they return as it is. */
function isList(answer: unknown, { query }: Operation): answer is object {
  if (!query || !('limit' in query.shape) || typeof answer !== 'object' || answer === null) return false
  const prototype = Object.getPrototypeOf(answer)
  return Array.isArray(answer) || prototype === Object.prototype
}

/** The operation of a request; undefined for an unknown route. */
export const operationOf = ({ routeOptions }: FastifyRequest): Operation | undefined => routeOptions.config.operation
