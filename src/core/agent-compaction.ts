import type { Agent } from './agent.ts'
import { COMPACTION, type CompactionMode, type CompactionSettings, NEXT_MODE } from './compaction.ts'
import { isTargetHandle } from './target.ts'

/** How this agent wants its conversations summarised, in our words; undefined where it says nothing. */
export function compactionOf({ settings }: Pick<Agent, 'settings'>): CompactionSettings | undefined {
  const wish = settings?.wire?.compaction_settings
  if (wish === null || typeof wish !== 'object' || Array.isArray(wish)) return undefined
  const { model, prompt, mode, sliding_window_percentage: share, clip_chars: clip } = wish
  return {
    ...COMPACTION,
    // "letta/auto" means the agent's own.
    ...(typeof model === 'string' && isTargetHandle(model) && model !== 'letta/auto' ? { model } : {}),
    ...(typeof prompt === 'string' && prompt !== '' ? { prompt } : {}),
    ...(typeof mode === 'string' && mode in NEXT_MODE ? { mode: mode as CompactionMode } : {}),
    ...(typeof share === 'number' ? { slidingWindowPercentage: share } : {}),
    ...(typeof clip === 'number' ? { clipChars: clip } : {}),
  }
}
