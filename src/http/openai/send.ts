import type { FastifyReply, FastifyRequest } from 'fastify'
import { defined } from '../../core/defined.ts'
import type { RunId } from '../../core/id.ts'
import { canonicalJson, type Json } from '../../core/json.ts'
import type { ModelSettings } from '../../core/model-settings.ts'
import type { SentMessage } from '../../core/openai/sent-message.ts'
import { Problem } from '../../core/problem.ts'
import { type ClientTool, isOver, type Run } from '../../core/run.ts'
import { acceptOpenaiRequest } from '../../service/openai/accept-request.ts'
import type { ConversationSource } from '../../service/openai/place-conversation.ts'
import { waitForRun } from '../../service/runs/watch-run.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { addWarnings } from '../warnings.ts'
import { requireAgentModel } from './agent-model.ts'
import { chatOf, choreOf } from './front-ends.ts'

export type HttpExchange = { request: FastifyRequest; reply: FastifyReply }

/** What both APIs ask for. */
export type SendRequest = {
  model: string
  messages: SentMessage[]
  /** The conversation that the body names; without it the headers, then `user` count. */
  named?: ConversationSource
  user?: string
  /** Whether clients repeat the history in `messages`, where the conversation is not a new one. */
  repeatsHistory: boolean
  onGuarded: 'ask' | 'deny'
  mayUseTools: boolean
  clientTools: ClientTool[]
  modelSettings: ModelSettings
  streamTokens: boolean
  background: boolean
  /** Names the route that opened the run, in its metadata. */
  runType: 'openai_chat' | 'openai_response'
  /** What the answer repeats of the request. */
  echo: Record<string, unknown>
}

/** Accepts a request. When it resolves, the message is durable and the headers name its run and conversation. */
export async function sendToAgent(
  { request, reply }: HttpExchange,
  asked: SendRequest,
  context: ServiceContext,
): Promise<RunId> {
  const at = context.deps.clock.now()
  const { agent, isOnce } = await requireAgentModel(asked.model, context)
  const chat = chatOf(request.headers)
  const chore = asked.named ? undefined : choreOf(asked.messages, { isInChat: chat !== undefined })
  const source = isOnce || chore ? ({ type: 'once' } as const) : (asked.named ?? chat ?? userSource(asked.user))
  const retries = Number(request.headers['x-stainless-retry-count'] ?? 0)
  const { onGuarded, clientTools, modelSettings, streamTokens, background, runType, echo } = asked
  const { runId, conversation, warnings } = await acceptOpenaiRequest(
    {
      agent,
      source,
      copies: { fingerprint: fingerprintOf(request, context), isRetry: retries > 0, at },
      messages: asked.messages,
      repeatsHistory: asked.repeatsHistory,
      policy: policyOf(request),
      options: {
        onGuarded,
        clientTools: asked.mayUseTools ? clientTools : [],
        modelSettings,
        streamTokens,
        background,
        // A chore is answered from the text that it quotes.
        ...defined({ onlyTools: chore || !asked.mayUseTools ? [] : undefined }),
        metadata: {
          run_type: runType,
          on_guarded: onGuarded,
          ...defined({ once: source.type === 'once' ? true : undefined, chore }),
          openai: echo as Json,
        },
      },
    },
    context,
  )
  reply.header('x-run-id', runId)
  reply.header('x-holdfast-run', runId)
  reply.header('x-holdfast-conversation', conversation.id)
  if (chore) reply.header('x-holdfast-chore', chore)
  addWarnings(reply, warnings)
  return runId
}

const userSource = (user: string | undefined): ConversationSource =>
  user ? { type: 'name', by: 'user', name: user, sendsHistory: false } : { type: 'none' }

/** Steering would give two requests one run, and each request is one response. */
function policyOf({ headers }: FastifyRequest): 'queue' | 'reject' | 'interrupt' {
  const asked = headers['x-holdfast-when-busy']
  if (asked === undefined) return 'queue'
  if (asked === 'queue' || asked === 'reject' || asked === 'interrupt') return asked
  throw new Problem(
    'invalid',
    `x-holdfast-when-busy: must be queue, reject or interrupt, not "${String(asked).slice(0, 40)}"`,
  )
}

/** Key, route and body, which a retry shares with the first copy of a request. */
function fingerprintOf(request: FastifyRequest, { deps }: ServiceContext): string {
  const key = request.server.serverContext.keyOf(request.headers.authorization)
  const path = request.url.split('?')[0]!.replace(/\/$/, '')
  // The headers that name a chat are part of what is asked.
  const chat = chatOf(request.headers)
  return deps.digest(
    [key, path, canonicalJson((chat ?? {}) as Json), canonicalJson((request.body ?? {}) as Json)].join('\n'),
  )
}

/** Waits for the end of the run. A client that leaves ends only its wait. */
export async function waitForEnd(reply: FastifyReply, runId: RunId, context: ServiceContext): Promise<Run> {
  const gone = new AbortController()
  const leave = () => {
    if (!reply.raw.writableFinished) gone.abort()
  }
  reply.raw.once('close', leave)
  const run = await waitForRun(runId, context, AbortSignal.any([gone.signal, reply.server.serverContext.closing]))
  reply.raw.off('close', leave)
  if (gone.signal.aborted) throw new Problem('caller-left', 'The client disconnected.')
  if (isOver(run)) return run
  throw new Problem('unavailable', `The server is shutting down. ${runId} continues: send this request again.`)
}
