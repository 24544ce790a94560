import { ADMISSION_POLICIES } from '../../core/admission.ts'
import type { Agent, AgentSettings } from '../../core/agent.ts'
import {
  BASE_TOOLS,
  CODE_TOOLS,
  DEMO_TOOLS,
  MEMORY_TOOLS,
  OLD_TOOLS,
  SCHEDULE_TOOLS,
  WEB_TOOLS,
  WORKSPACE_TOOLS,
} from '../../core/base-tools.ts'
import { type Block, cleanText } from '../../core/block.ts'
import { COMMAND_APPROVALS, DEFAULT_COMMAND_APPROVAL, isLooser } from '../../core/command-approval.ts'
import { defined } from '../../core/defined.ts'
import type { BlockId } from '../../core/id.ts'
import { compilePrompt } from '../../core/memory-prompt.ts'
import { inputBody, type NewMessage, NO_RUN } from '../../core/message.ts'
import { Problem } from '../../core/problem.ts'
import { faultIn } from '../../core/session-expiry.ts'
import { isTargetHandle, parseTarget, SCRIPTED, type TargetHandle } from '../../core/target.ts'
import { requireApproveRight } from '../approvals/approver.ts'
import { type NewBlock, requireBlock, toBlock } from '../memory/blocks.ts'
import type { NewInput } from '../messages/send-message.ts'
import { requireRoomFor } from '../people/storage-quota.ts'
import { currentHandle } from '../providers/retired-handles.ts'
import type { ServiceContext } from '../service-context.ts'
import { findKnownToolNames } from '../tools/tools.ts'
import { requireToolsRight } from '../tools/tools-right.ts'
import { type Secrets, sealSecrets, withSecrets } from './agent-secrets.ts'
import { refuseRepeatedTargets, requireFallback } from './model-chain.ts'

export type CreateAgentRequest = {
  name: string
  system?: string
  /** The default model of the server if it is left out. */
  model?: string
  fallback?: string[]
  /** By name. Left out: the memory tools, and for the scripted model the demo tools. */
  tools?: string[]
  settings?: AgentSettings
  /** Left out along with `tools` and `blockIds`, an agent on a real model gets `DEFAULT_BLOCKS`. */
  blocks?: NewBlock[]
  blockIds?: BlockId[]
  tags?: string[]
  /** The initial history, in order. */
  messages?: NewInput[]
  secrets?: Secrets
}

/** The memory that an agent on a real model begins with. */
export const DEFAULT_BLOCKS: readonly NewBlock[] = [
  { label: 'persona', value: '', description: 'Who I am: my name, role and manner. I keep it up to date.' },
  { label: 'human', value: '', description: 'What I know about the person I talk with: name, wishes, habits.' },
]

const DEFAULT_SYSTEM = 'You are a helpful assistant. Use your tools when they help; say so when one fails.'

/** Creates an agent and its default conversation. */
export async function createAgent(request: CreateAgentRequest, context: ServiceContext): Promise<Agent> {
  const { store, clock, randomness } = context.deps
  const name = cleanText(request.name).trim()
  if (name === '') throw new Problem('invalid', 'An agent needs a name.')
  const model = requireModelHandle(request.model ?? context.defaults.model, context)
  const fallback = requireFallback(request.fallback ?? [], context)
  refuseRepeatedTargets({ model, fallback })
  const isScripted = parseTarget(model)?.provider === SCRIPTED
  const newBlocks = requestedBlocks(request, { isScripted }).map((block) => toBlock(block, context))
  const shared = await requireBlocks(request.blockIds ?? [], context)
  const blocks = requireUniqueLabels([...newBlocks, ...shared])
  refuseFaultySettings(request.settings)
  requireMayLoosen(request.settings, undefined, context)
  await requireRoomFor([request.system, newBlocks.map(({ value }) => value), request.messages], context)
  const { tools, settings } = await chooseTools(request, { context, isScripted, hasMemory: blocks.length > 0 })
  const now = clock.now()
  const id = `agent-${randomness.uuid()}` as const
  const bare: Agent = {
    id,
    organizationId: context.organizationId,
    name,
    system: cleanText(request.system ?? DEFAULT_SYSTEM),
    model,
    fallback,
    tools,
    ...defined({ settings }),
    createdAt: now,
    updatedAt: now,
  }
  const agent = request.secrets ? withSecrets(bare, sealSecrets(id, request.secrets, context)) : bare
  const messages = (request.messages ?? []).map(
    (input): NewMessage => ({
      id: `message-${randomness.uuid()}`,
      runId: NO_RUN,
      createdAt: now,
      body: inputBody({ ...input, messageId: 'message-' }),
    }),
  )
  const conversation = { id: `conv-${randomness.uuid()}` as const, isDefault: true, nextPosition: messages.length }
  await store.agents.create(agent, conversation.id, {
    newBlocks,
    blockIds: blocks.map(({ id }) => id),
    tags: request.tags ?? [],
    messages,
    prompt: compilePrompt({ agent, conversation, blocks, passageCount: 0, passageTags: [], at: now }),
  })
  return agent
}

/** Fewer commands wait for approval, or tools reach more, only if the caller has the right to that. */
export function requireMayLoosen(
  after: AgentSettings | undefined,
  before: AgentSettings | undefined,
  context: ServiceContext,
): void {
  if (isLooser(after?.commandApproval, before?.commandApproval))
    requireApproveRight(`command_approval "${after?.commandApproval ?? DEFAULT_COMMAND_APPROVAL}"`, context)
  const added = after?.egress?.find((domain) => !before?.egress?.includes(domain))
  if (added !== undefined) requireToolsRight(`egress to ${added}`, context)
}

/** For callers whose values no schema has checked. */
export function refuseFaultySettings({ whenBusy, sessionExpiry, commandApproval }: AgentSettings = {}): void {
  if (whenBusy !== undefined && !ADMISSION_POLICIES.includes(whenBusy))
    throw new Problem('invalid', `whenBusy must be one of ${ADMISSION_POLICIES.join(', ')}, not "${whenBusy}".`)
  if (commandApproval !== undefined && !COMMAND_APPROVALS.includes(commandApproval))
    throw new Problem(
      'invalid',
      `commandApproval must be one of ${COMMAND_APPROVALS.join(', ')}, not "${commandApproval}".`,
    )
  const fault = sessionExpiry && faultIn(sessionExpiry)
  if (fault) throw new Problem('invalid', `sessionExpiry: ${fault}`)
}

type ChosenTools = { tools: string[]; settings?: AgentSettings }

async function chooseTools(
  { tools: wanted, settings }: CreateAgentRequest,
  { context, isScripted, hasMemory }: { context: ServiceContext; isScripted: boolean; hasMemory: boolean },
): Promise<ChosenTools> {
  const withSettings = settings ? { settings } : {}
  const all = context.deps.tools.names()
  if (!wanted) return { tools: defaultTools(all, { isScripted, hasMemory }), ...withSettings }
  const names = [...new Set(wanted)]
  const found = await findKnownToolNames(names, context)
  const missing = names.filter((name) => !found.includes(name))
  if (missing.length === 0) return { tools: found, ...withSettings }
  throw new Problem(
    'invalid',
    `There is no tool ${missing.map((name) => `"${name}"`).join(' or ')}. Available tools: ${all.join(', ')}.`,
  )
}

/** Tools that an agent has only if it names them. */
const NAMED_TOOLS = [WORKSPACE_TOOLS, WEB_TOOLS, CODE_TOOLS, SCHEDULE_TOOLS, OLD_TOOLS].flat()

/** Tools that an embedding program adds are its own choice, so every agent has them; workspace tools must be named. */
function defaultTools(
  all: readonly string[],
  { isScripted, hasMemory }: { isScripted: boolean; hasMemory: boolean },
): string[] {
  const isDefault = (name: string): boolean => {
    if (NAMED_TOOLS.includes(name)) return false
    if (DEMO_TOOLS.includes(name)) return isScripted
    if (MEMORY_TOOLS.includes(name)) return hasMemory && (isScripted || BASE_TOOLS.includes(name))
    return true
  }
  return all.filter(isDefault)
}

function requestedBlocks(
  { tools, blocks, blockIds }: CreateAgentRequest,
  { isScripted }: { isScripted: boolean },
): readonly NewBlock[] {
  if (blocks) return blocks
  return tools || blockIds || isScripted ? [] : DEFAULT_BLOCKS
}

/** All or none: an agent is never created with half its memory. */
export async function requireBlocks(ids: readonly BlockId[], context: ServiceContext): Promise<Block[]> {
  const blocks: Block[] = []
  for (const id of new Set(ids)) blocks.push(await requireBlock(id, context))
  return blocks
}

export function requireUniqueLabels(blocks: readonly Block[]): Block[] {
  const labels = new Set<string>()
  for (const { label } of blocks) {
    if (labels.has(label)) throw new Problem('conflict', `An agent cannot have two blocks labeled "${label}".`)
    labels.add(label)
  }
  return [...blocks]
}

export function requireModelHandle(handle: string, context: ServiceContext): TargetHandle {
  if (isTargetHandle(handle)) return currentHandle(handle, context)
  throw new Problem(
    'invalid',
    `"${handle}" is not a model handle. Write provider/model, for example scripted/friendly.`,
  )
}
