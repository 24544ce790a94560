import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { defined } from '../core/defined.ts'
import type { Right } from '../core/people.ts'
import type { ServiceContext } from '../service/service-context.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type Route = `${Method} /${string}`

/** The access an operation needs. `operator`: an administrator of the default organization. `open`: no key. */
export type Access = Right | 'operator' | 'open'

/**
 * One operation of the API: everything the server knows about a route. Registration, the scope check, parsing,
 * `/openapi.json`, the API page and the fuzz tests are loops over these records.
 */
export type Operation = {
  method: Method
  /** With parameters as `:name`. */
  path: string
  scope: Access
  /** One sentence. */
  summary: string
  /** Heading on the API page; by default derived from the path. */
  group?: string
  params?: z.ZodObject
  query?: z.ZodObject
  body?: z.ZodType
  /** The media type of the body. With any (two stars) the handler gets its bytes as `RawBody`. */
  consumes: 'application/json' | 'multipart/form-data' | '*/*'
  /** The media type of the answer, where it is not a stream. */
  produces: 'application/json' | 'text/plain' | 'text/html'
  /** Example body for the API page. */
  example?: unknown
  /**
   * The JSON of a 200, or the data of each event of a stream; `nothing` is a 204. Only `/openapi.json` and tests use
   * it, so the schemas in `wire/` are `z.lazy`: building them at startup would take 14 ms.
   */
  answer: z.ZodType
  /** Whether the answer is a stream of server-sent events. */
  streams: 'never' | 'on-request' | 'always'
  audit: Audit
  handle(call: Call<unknown, unknown, unknown>, context: ServiceContext): unknown
}

/**
 * Who writes the audit log. `with-change`: the first transaction of the request that changes something; the default of
 * operations that may change something. `before`: the server, before an action that is no transaction. `by-verb`: the
 * verb. With all three the server adds refusals and failures. `none`: reads, and what the log of a run records.
 */
type Audit = 'with-change' | 'before' | 'by-verb' | 'none'

/** A request with validated parts. */
export type Call<Params, Query, Body> = {
  params: Params
  query: Query
  body: Body
  request: FastifyRequest
  reply: FastifyReply
}

type ParamName<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamName<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

type Schemas = Record<string, z.ZodType>
type NoFields = z.ZodObject<Record<never, never>>

type Declaration<
  R extends Route,
  P extends Schemas,
  Q extends z.ZodObject,
  B extends z.ZodType,
  A extends z.ZodType,
> = Pick<Operation, 'scope' | 'summary' | 'group'> & {
  route: R
  params?: P & Record<Exclude<keyof P, ParamName<R>>, never>
  query?: Q
  body?: B
  consumes?: Operation['consumes']
  produces?: Operation['produces']
  example?: z.input<B>
  answer: A
  streams?: Operation['streams']
  audit?: Audit
  handle(
    call: Call<{ [N in keyof P]: z.output<P[N]> }, z.output<Q>, z.output<B>>,
    context: ServiceContext,
  ): Answered<A> | Promise<Answered<A>>
}

/** A handler that streams takes over the socket and returns the reply itself. */
type Answered<A extends z.ZodType> = z.input<A> | FastifyReply

/** Requires a schema for each `:name` of the route. */
type AllParams<R extends Route> = [ParamName<R>] extends [never] ? unknown : { params: Record<ParamName<R>, z.ZodType> }

/** Declares an operation. A missing scope, an undescribed parameter or an answer that differs does not compile. */
export function operation<
  const R extends Route,
  A extends z.ZodType,
  P extends Schemas = Record<never, never>,
  Q extends z.ZodObject = NoFields,
  B extends z.ZodType = NoFields,
>(declared: Declaration<R, P, Q, B, A> & AllParams<R>): Operation {
  const {
    route,
    params,
    consumes = 'application/json',
    produces = 'application/json',
    streams = 'never',
    ...rest
  } = declared as Declaration<R, P, Q, B, A>
  const [method, path] = route.split(' ') as [Method, string]
  return {
    ...rest,
    method,
    path,
    consumes,
    produces,
    streams,
    audit: declared.audit ?? (method === 'GET' || READS.includes(declared.scope) ? 'none' : 'with-change'),
    ...defined({ params: params ? z.object(params) : undefined }),
  } as Operation
}

const READS: readonly Access[] = ['read', 'open']

/** The answer of an operation without one (204). */
export const nothing = z.undefined()
