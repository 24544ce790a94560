import type { Run } from '../core/run.ts'
import type { Turn } from '../core/turn.ts'
import type { OpenedPrompt } from '../ports/prompt-store.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { StoreRetry } from './retry-store.ts'
import { promptFrom, systemPrompt } from './system-prompt.ts'

/** The system prompt of a turn, in the words of its conversation and of its request. */
export type TurnPrompt = {
  readonly text: string
  /** Reads it again: a compaction compiles the prompt of its conversation from memory as it is now. */
  refresh(): Promise<void>
}

type OpenPromptOptions = { run: Run; known: OpenedPrompt | undefined; settings: Turn['settings'] }

export async function openPrompt(
  { run, known, settings: { system, addendum } }: OpenPromptOptions,
  deps: Pick<EngineDeps, 'store' | 'clock'>,
  patient: StoreRetry,
): Promise<TurnPrompt> {
  const whole = (prompt: string) => (addendum === undefined ? prompt : `${prompt}\n\n${addendum}`)
  let text = whole(system ?? (known ? await patient(() => promptFrom(known.system, run, deps)) : ''))
  return {
    get text() {
      return text
    },
    async refresh() {
      text = whole(system ?? (await patient(() => systemPrompt(run, deps))))
    },
  }
}
