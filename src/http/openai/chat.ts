import { defined } from '../../core/defined.ts'
import { parseId, type RunId } from '../../core/id.ts'
import type { Run } from '../../core/run.ts'
import type { ConversationSource } from '../../service/openai/place-conversation.ts'
import { showRun } from '../../service/runs/runs.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import { runFailedProblem } from '../letta/errors.ts'
import { operation } from '../operation.ts'
import { chatCompletion, newChatView } from './chat-answer.ts'
import { type ChatBody, chatBody, chatMessages, chatSettings, chatTools } from './chat-body.ts'
import { outputOf, outputOptions } from './output-items.ts'
import { modelOf } from './response-object.ts'
import { type HttpExchange, sendToAgent, waitForEnd } from './send.ts'
import { streamInFormat } from './stream.ts'
import { chatCompletionSchema } from './wire/chat.ts'

const createCompletion = operation({
  route: 'POST /openai/v1/chat/completions',
  scope: 'agent',
  group: 'openai',
  summary: 'Sends messages to an agent and answers like OpenAI’s chat completions, or streams with `stream: true`',
  audit: 'none',
  body: chatBody,
  example: { model: 'agent:ada', messages: [{ role: 'user', content: 'Hello' }] },
  answer: chatCompletionSchema,
  streams: 'on-request',
  async handle({ body, request, reply }, context) {
    const runId = await sendChat({ request, reply }, body, context)
    if (body.stream) {
      const includeUsage = body.stream_options?.include_usage ?? false
      return streamChat({ request, reply }, { runId, includeUsage }, context)
    }
    const run = await waitForEnd(reply, runId, context)
    return completionOf(run, context)
  },
})

export const chatOperations = [createCompletion]

function sendChat(exchange: HttpExchange, body: ChatBody, context: ServiceContext): Promise<RunId> {
  const { model, conversation, user, stream, tool_choice } = body
  const named = conversation ? namedConversation(conversation) : undefined
  return sendToAgent(
    exchange,
    {
      model,
      messages: chatMessages(body),
      ...defined({ named, user: personOf(user) }),
      repeatsHistory: true,
      onGuarded: body.on_guarded ?? 'deny',
      mayUseTools: tool_choice !== 'none',
      clientTools: chatTools(body),
      modelSettings: chatSettings(body),
      streamTokens: stream ?? false,
      background: false,
      runType: 'openai_chat',
      echo: defined({ model, metadata: body.metadata ?? undefined }),
    },
    context,
  )
}

export const personOf = (user: ChatBody['user']): string | undefined =>
  (typeof user === 'string' ? user : user?.id) || undefined

/** An id of a conversation, or a name that the client chose for one. */
export function namedConversation(text: string): ConversationSource {
  const id = parseId('conv', text)
  return id ? { type: 'id', id } : { type: 'name', by: 'conversation', name: text, sendsHistory: false }
}

async function completionOf(run: Run, context: ServiceContext) {
  if (run.status === 'failed' && run.error && run.stopReason !== 'max_tokens_exceeded')
    throw runFailedProblem(run.error, { runId: run.id, stopReason: run.stopReason ?? 'error' })
  const { events } = await showRun(run.id, context)
  const first = events[0]!.event
  const output = first.type === 'input-accepted' ? outputOf(events, outputOptions(first)) : []
  return chatCompletion({ run, output, events, model: await modelOf(run, context) })
}

async function streamChat(
  { reply }: HttpExchange,
  { runId, includeUsage }: { runId: RunId; includeUsage: boolean },
  context: ServiceContext,
) {
  const { run, events } = await showRun(runId, context)
  const first = events[0]!.event
  const output = first.type === 'input-accepted' ? outputOptions(first) : { clientTools: new Set<string>() }
  const model = await modelOf(run, context)
  return streamInFormat(
    reply,
    {
      runId,
      last: 'data: [DONE]\n\n',
      open: async () => {
        const view = newChatView({ run, model, output, includeUsage })
        const plain = (data: unknown) => ({ data })
        return {
          begin: () => view.begin().map(plain),
          take: (chunk) => view.take(chunk).map(plain),
          end: async () => view.end().map(plain),
        }
      },
    },
    context,
  )
}
