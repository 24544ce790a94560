import type { Operation } from '../operation.ts'
import type { Surface } from '../surface.ts'
import { chatOperations } from './chat.ts'
import { conversationOperations } from './conversations.ts'
import { embeddingOperations } from './embeddings.ts'
import { OPENAI_ERRORS, openaiRefusal } from './errors.ts'
import { modelOperations } from './models.ts'
import { responseOperations } from './responses.ts'

const PREFIX = '/openai/v1'

/** Paths without the prefix that the official client of the other surface does not use. */
const aliased = (operation: Operation): Operation => ({
  ...operation,
  path: operation.path.replace(PREFIX, '/v1'),
  summary: `${operation.summary} (short path)`,
})

const withAliases = [...chatOperations, ...responseOperations, ...embeddingOperations]

/** The operations of OpenAI's client. An agent is a model. */
export const OPENAI: Surface = {
  errors: OPENAI_ERRORS,
  refusal: openaiRefusal,
  notServed: [],
  operations: [...withAliases, ...modelOperations, ...conversationOperations, ...withAliases.map(aliased)],
}
