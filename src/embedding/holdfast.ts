import type { AdmissionPolicy } from '../core/admission.ts'
import type { Agent, AgentSettings, Conversation } from '../core/agent.ts'
import type { Verdict } from '../core/approval.ts'
import type { Block } from '../core/block.ts'
import type { NumberedChunk } from '../core/chunk.ts'
import type { CommandApproval } from '../core/command-approval.ts'
import { defined } from '../core/defined.ts'
import { parseId, type RunId } from '../core/id.ts'
import { type InputPart, type Message, textOf } from '../core/message.ts'
import type { ModelSettings } from '../core/model-settings.ts'
import { Problem } from '../core/problem.ts'
import type { Run } from '../core/run.ts'
import type { SessionExpiry } from '../core/session-expiry.ts'
import { storedSettings } from '../core/stored-settings.ts'
import type { WatchEnd } from '../ports/streams.ts'
import { blocksOf, requireBlockOf } from '../service/agents/agent-blocks.ts'
import { deleteAgent, listAgents, requireAgent, updateAgent, withOwnSettings } from '../service/agents/agents.ts'
import { type CreateAgentRequest, createAgent } from '../service/agents/create-agent.ts'
import { answerApproval } from '../service/approvals/answer-approval.ts'
import { listApprovals, type PendingApproval } from '../service/approvals/approvals.ts'
import { createConversation, listConversations, requireConversation } from '../service/conversations/conversations.ts'
import { leaveConversation } from '../service/conversations/sessions.ts'
import { updateBlock } from '../service/memory/blocks.ts'
import { acceptCallback } from '../service/messages/callbacks.ts'
import { waitForAnswer } from '../service/messages/joined-turn.ts'
import { listMessages } from '../service/messages/messages.ts'
import { type SendOptions, type SendResult, sendMessage } from '../service/messages/send-message.ts'
import { cancelRun, listRuns, type RunDetails, showRun } from '../service/runs/runs.ts'
import { waitForRun, watchRun } from '../service/runs/watch-run.ts'
import type { ServiceContext } from '../service/service-context.ts'

/** The id or name of an agent, or the agent itself, which saves a lookup. */
type AgentRef = string | Agent

type SendRequest = Pick<
  SendOptions,
  'maxSteps' | 'model' | 'reasoning' | 'background' | 'onGuarded' | 'streamTokens' | 'metadata'
> & {
  agent: AgentRef
  /** A conversation or its id. Default: the default conversation of the agent. */
  conversation?: string | Conversation
  text?: string
  /** Text and images, in place of `text`. */
  content?: InputPart[]
  /**
   * What happens while a turn runs in the conversation: wait for it (`queue`), join it (`steer`), cancel it and go next
   * (`interrupt`), or be refused (`reject`). Default: `whenBusy` of the agent, or `queue`.
   */
  whenBusy?: AdmissionPolicy
  /** Idempotency key: a second message with the same key in the same conversation attaches to the first run. */
  otid?: string
  /** URL that is called when the run is over (a webhook), retried with backoff for hours. */
  callback?: string
}

/** `opened`: a new run. `steered`: the message entered the running one. `repeated`: it was accepted before. */
export type SentMessage = SendResult

/** `text` is what the model said in this run. A run that waits for approval or failed says so in `run`. */
export type Reply = { run: Run; text: string; messages: Message[] }

type CreateAgent = CreateAgentRequest & {
  /** What is asked of every answer of the model, such as a temperature. */
  modelSettings?: ModelSettings
}

type UpdateAgent = {
  name?: string
  system?: string
  model?: string
  fallback?: string[]
  /** Replaces all of them; `{}` removes them. */
  modelSettings?: ModelSettings
  tools?: string[]
  /** null: the default of each request. */
  whenBusy?: AdmissionPolicy | null
  /** When sessions end by themselves. null: never. */
  sessionExpiry?: SessionExpiry | null
  /** Which commands wait for approval in a sandbox. null: those that destroy or cannot be read. */
  commandApproval?: CommandApproval | null
}

type RunQuery = { agent?: AgentRef; limit?: number }

export type ServedHoldfast = { url: string; key: string; close(): Promise<void> }

/** The API of an embedded Holdfast. Errors of the caller are thrown as `Problem`. */
export type Holdfast = {
  agents: {
    create(request: CreateAgent): Promise<Agent>
    get(idOrName: string): Promise<Agent>
    /** Newest first. */
    list(): Promise<Agent[]>
    /** Turns that run keep the old definition; the next turn uses the new one. */
    update(agent: AgentRef, change: UpdateAgent): Promise<Agent>
    /** Cancels its runs, then deletes it with its conversations. */
    delete(agent: AgentRef): Promise<void>
  }
  conversations: {
    /** `leaves`: a conversation that its user leaves for the new one. Its processes end. */
    create(agent: AgentRef, options?: { leaves?: string | Conversation }): Promise<Conversation>
    /** The default conversation if no id is given. */
    get(agent: AgentRef, id?: string): Promise<Conversation>
    list(agent: AgentRef): Promise<Conversation[]>
  }
  messages: {
    /** Resolves when the message is on disk: from then on its run reaches an end, even after a crash. */
    send(request: SendRequest): Promise<SentMessage>
    /** Sends, waits for the end of the run and returns the reply. An abort stops the waiting, not the run. */
    ask(request: SendRequest, options?: { signal?: AbortSignal }): Promise<Reply>
    /** The newest messages of a conversation, oldest first. */
    list(agent: AgentRef, options?: { conversation?: string; limit?: number }): Promise<Message[]>
  }
  runs: {
    /** The run with its events, steps and messages. */
    get(id: string): Promise<RunDetails>
    /** Newest first. */
    list(query?: RunQuery): Promise<Run[]>
    /** Resolves when the run is settled or waits for approval; with the run as it is when the signal aborts. */
    wait(id: string, options?: { signal?: AbortSignal }): Promise<Run>
    /** The chunks of a run after number `after`: stored ones, then live ones, up to the end of the run. */
    watch(id: string, options?: { after?: number; signal?: AbortSignal }): AsyncGenerator<NumberedChunk, WatchEnd>
    /** Resolves when the request is on disk; a running run ends within seconds. */
    cancel(id: string): Promise<Run>
  }
  approvals: {
    /** Oldest first. */
    list(): Promise<PendingApproval[]>
    /** Answers all open calls of a waiting run. Returns the id of the run that continues. */
    answer(runId: string, verdicts: Verdict[]): Promise<RunId>
  }
  memory: {
    blocks(agent: AgentRef): Promise<Block[]>
    setBlock(agent: AgentRef, label: string, value: string): Promise<Block>
  }
  /** Serves the HTTP API of this home from this process. */
  serve(options?: { host?: string; port?: number }): Promise<ServedHoldfast>
  /** Graceful shutdown: tools finish, running turns are handed back, the database closes last. */
  close(): Promise<void>
}

const PAGE = 100
const DELETE_TIMEOUT_MS = 15_000

const withModelSettings = (asked: ModelSettings | undefined) => {
  const stored = asked && storedSettings(asked)
  return (before: AgentSettings): AgentSettings =>
    stored ? { ...before, wire: { ...before.wire, model_settings: stored } } : before
}

export function newHoldfast(context: ServiceContext, { serve, close }: Pick<Holdfast, 'serve' | 'close'>): Holdfast {
  const agentOf = async (agent: AgentRef): Promise<Agent> =>
    typeof agent === 'string' ? requireAgent(agent, context) : agent

  async function send(request: SendRequest): Promise<SentMessage> {
    const { agent: ref, conversation: conversationRef, text, content, callback, whenBusy, ...options } = request
    const agent = await agentOf(ref)
    const conversation =
      typeof conversationRef === 'object' ? conversationRef : await requireConversation(agent, conversationRef, context)
    return sendMessage(
      {
        ...options,
        ...defined({ policy: whenBusy }),
        agent,
        conversationId: conversation.id,
        conversation,
        content: content ?? [{ type: 'text', text: text ?? '' }],
        ...defined({ callback: callback === undefined ? undefined : acceptCallback(callback, context) }),
      },
      context,
    )
  }

  return {
    agents: {
      create: async ({ modelSettings, ...request }) =>
        createAgent({ ...request, settings: withModelSettings(modelSettings)(request.settings ?? {}) }, context),
      get: (idOrName) => requireAgent(idOrName, context),
      list: () => listAgents(context),
      update: async (agent, { whenBusy, sessionExpiry, commandApproval, modelSettings, ...change }) =>
        updateAgent(
          {
            agent: await agentOf(agent),
            ...change,
            settings: (before) =>
              withModelSettings(modelSettings)(withOwnSettings({ whenBusy, sessionExpiry, commandApproval })(before)),
          },
          context,
        ),
      async delete(agent) {
        await deleteAgent(await agentOf(agent), context, AbortSignal.timeout(DELETE_TIMEOUT_MS))
      },
    },
    conversations: {
      async create(ref, { leaves } = {}) {
        const agent = await agentOf(ref)
        const left = typeof leaves === 'string' ? await requireConversation(agent, leaves, context) : leaves
        const created = await createConversation(agent, context)
        if (left) await leaveConversation({ agent, conversationId: left.id }, context)
        return created
      },
      get: async (agent, id) => requireConversation(await agentOf(agent), id, context),
      list: async (agent) => listConversations(await agentOf(agent), context),
    },
    messages: {
      send,
      async ask(request, { signal } = {}) {
        const run = await waitForAnswer(await send(request), context, signal)
        const { messages } = await showRun(run.id, context)
        return { run, text: repliedText(messages), messages }
      },
      async list(agent, { conversation, limit = PAGE } = {}) {
        const { id } = await requireConversation(await agentOf(agent), conversation, context)
        return listMessages(id, { limit, take: 'newest' }, context)
      },
    },
    runs: {
      get: (id) => showRun(id, context),
      async list({ agent, limit = PAGE } = {}) {
        const agentId = agent === undefined ? undefined : (await agentOf(agent)).id
        return listRuns(defined({ agentId }), limit, context)
      },
      wait: (id, { signal } = {}) => waitForRun(requireRunId(id), context, signal),
      watch: (id, { after, signal = new AbortController().signal } = {}) =>
        watchRun(id, { signal, ...defined({ after }) }, context),
      cancel: (id) => cancelRun(id, context),
    },
    approvals: {
      list: () => listApprovals(context),
      answer: (runId, verdicts) => answerApproval({ runId, verdicts }, context),
    },
    memory: {
      blocks: async (agent) => blocksOf(await agentOf(agent), context),
      async setBlock(agent, label, value) {
        const { id } = await requireBlockOf(await agentOf(agent), label, context)
        return updateBlock(id, { value }, context)
      },
    },
    serve,
    close,
  }
}

function requireRunId(id: string): RunId {
  const runId = parseId('run', id)
  if (runId) return runId
  throw new Problem('not-found', `There is no run "${id}".`)
}

const repliedText = (messages: readonly Message[]): string =>
  messages
    .flatMap(({ body }) => (body.role === 'assistant' ? [textOf(body.content)] : []))
    .filter((text) => text !== '')
    .join('\n')
