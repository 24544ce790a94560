import type { Run } from '../core/run.ts'
import type { Turn } from '../core/turn.ts'
import type { OpenedPrompt } from '../ports/prompt-store.ts'
import type { EngineDeps } from './engine-deps.ts'
import type { StoreRetry } from './retry-store.ts'
import { promptFrom, systemPrompt } from './system-prompt.ts'

/** The system prompt of a turn: that of its conversation, changed by the request. */
export type TurnPrompt = {
  readonly text: string
  /** Reads it again: after a compaction the prompt is compiled from current memory. */
  refresh(): Promise<void>
}

type OpenPromptOptions = { run: Run; openedPrompt: OpenedPrompt | undefined; settings: Turn['settings'] }

export async function openPrompt(
  { run, openedPrompt, settings: { system, addendum } }: OpenPromptOptions,
  deps: Pick<EngineDeps, 'store' | 'clock'>,
  retry: StoreRetry,
): Promise<TurnPrompt> {
  const whole = (prompt: string) => (addendum === undefined ? prompt : `${prompt}\n\n${addendum}`)
  let text = whole(system ?? (openedPrompt ? await retry(() => promptFrom(openedPrompt.system, run, deps)) : ''))
  return {
    get text() {
      return text
    },
    async refresh() {
      text = whole(system ?? (await retry(() => systemPrompt(run, deps))))
    },
  }
}
