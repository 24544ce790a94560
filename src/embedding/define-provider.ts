import type { Part } from '../core/answer.ts'
import { namedErrorText } from '../core/error-text.ts'
import type { ModelProvider } from '../ports/model.ts'

/**
 * A provider that never throws: an exception of `stream` becomes a `server-error`, which is retried before failover to
 * the next model. For another kind of failure yield `{ type: 'failure', failure }`.
 */
export const defineProvider = (definition: ModelProvider): ModelProvider => ({
  ...definition,
  async *stream(request, options): AsyncGenerator<Part> {
    try {
      yield* definition.stream(request, options)
    } catch (error) {
      if (options.signal.aborted) return
      yield { type: 'failure', failure: { kind: 'server-error', detail: namedErrorText(error) } }
    }
  },
})
