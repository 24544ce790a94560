import type { Agent } from './agent.ts'
import { type CompactionMode, type CompactionSettings, DEFAULT_COMPACTION, NEXT_MODE } from './compaction.ts'
import { defined } from './defined.ts'
import { isTargetHandle } from './target.ts'

/** The agent's compaction settings, parsed from the client's format; undefined if it has none. */
export function compactionSettingsOf({ settings }: Pick<Agent, 'settings'>): CompactionSettings | undefined {
  const stored = settings?.wire?.compaction_settings
  if (stored === null || typeof stored !== 'object' || Array.isArray(stored)) return undefined
  const { model, prompt, mode, sliding_window_percentage: share, clip_chars: clip } = stored
  return {
    ...DEFAULT_COMPACTION,
    // "letta/auto" means the agent's own model.
    ...defined({
      model: typeof model === 'string' && isTargetHandle(model) && model !== 'letta/auto' ? model : undefined,
      prompt: typeof prompt === 'string' && prompt !== '' ? prompt : undefined,
      mode: typeof mode === 'string' && mode in NEXT_MODE ? (mode as CompactionMode) : undefined,
      slidingWindowPercentage: typeof share === 'number' ? share : undefined,
      clipChars: typeof clip === 'number' ? clip : undefined,
    }),
  }
}
