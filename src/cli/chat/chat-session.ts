import type { AdmissionPolicy } from '../../core/admission.ts'
import type { Agent, Conversation } from '../../core/agent.ts'
import type { RunId } from '../../core/id.ts'
import type { Effort } from '../../core/model-settings.ts'
import type { Problem } from '../../core/problem.ts'
import type { HomeSession } from '../home-session.ts'
import type { Screen } from '../terminal.ts'
import type { SentText } from '../verbs.ts'
import type { Keyboard } from './keyboard.ts'
import type { ListedConversation } from './listed-conversations.ts'
import type { StatusRow } from './status-row.ts'

/** A message that was sent while a turn ran, and whose turn follows. */
type QueuedMessage = { runId: RunId; shown: string }

type SteeredMessage = { sent: SentText; shown: string }

/** `leave`: the user left during a turn that the command followed. */
export type CommandOutcome = 'quit' | 'leave' | 'go-on'

export type ChatSession = HomeSession & {
  agent: Agent
  conversation: Conversation
  keyboard: Keyboard
  /** The input line stays below the text; false for pipes and simple terminals. */
  isLive: boolean
  screen: Screen
  /** Where the text of answers goes. */
  answers: Screen
  /** Ends the open line of a turn. */
  finish(): void
  status: StatusRow
  /** Runs that this chat printed, or that ended before it began. */
  shownRuns: Set<RunId>
  queued: QueuedMessage[]
  /** Messages that joined a running turn whose end is not known yet. */
  steered: SteeredMessage[]
  /** The conversations as they were last listed: `/switch` takes their numbers. */
  listed?: ListedConversation[]
  /** The run whose turn is being shown. */
  current?: RunId
  /** What a message does while a turn runs; absent: the setting of the agent, or it is queued. */
  whenBusy?: AdmissionPolicy
  /** Set by `/reasoning`, for the next turns of this chat. */
  effort?: Effort
  /** Runs a line that begins with a slash. */
  runCommand(line: string): Promise<CommandOutcome>
  /** Prints why something was refused. */
  reportProblem(problem: Problem): void
  /** Aborted when the user leaves during a turn, or a signal ends the process. */
  leaving: AbortController
}

/** The model that the next turn asks first. */
export const modelOf = ({ agent, conversation }: Pick<ChatSession, 'agent' | 'conversation'>): string =>
  conversation.details?.model ?? agent.model
