import { z } from 'zod'
import type { Agent, Conversation } from '../../core/agent.ts'
import { DEFAULT_WINDOW, windowFault } from '../../core/context-window.ts'
import { windowLimitOf } from '../../core/model-settings.ts'
import { Problem } from '../../core/problem.ts'
import { parseTarget } from '../../core/target.ts'
import { CHARS_PER_TOKEN } from '../../core/token-estimate.ts'
import type { ServiceContext } from '../../service/service-context.ts'

export const windowLimitBody = z
  .int()
  .min(1)
  .nullish()
  .describe(
    'Limit of the context in tokens, for models with a larger window. A conversation that reaches it is summarized.',
  )

/** The window that requests of an agent keep to: that of its model, or the limit of the application if it is smaller. */
export function windowOf(
  agent: Pick<Agent, 'model' | 'settings'>,
  context: ServiceContext,
  conversation?: Pick<Conversation, 'details'>,
): number {
  const target = parseTarget(conversation?.details?.model ?? agent.model)
  const known = target && context.directory.factsOf(target).window
  const limit = windowLimitOf(agent, conversation)
  return known === undefined || limit === undefined ? (known ?? limit ?? DEFAULT_WINDOW) : Math.min(known, limit)
}

const tokensOf = (promptLength: number): number => Math.ceil(promptLength / CHARS_PER_TOKEN)

export const hasRoomForPrompt = (limit: number, promptLength: number): boolean =>
  windowFault(limit, tokensOf(promptLength)) === undefined

/** Refuses a limit that the system prompt alone exceeds: no message could ever be sent. */
export function requireRoomForPrompt(limit: number | undefined, promptLength: number, field: string): void {
  if (limit === undefined || hasRoomForPrompt(limit, promptLength)) return
  throw new Problem(
    'invalid',
    `${field}: the system prompt alone has about ${tokensOf(promptLength)} tokens, so a limit of ${limit} leaves no room. Send a larger limit, or shorten the prompt.`,
  )
}
