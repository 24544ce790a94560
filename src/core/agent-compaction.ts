import type { Agent } from './agent.ts'
import { type CompactionMode, type CompactionSettings, DEFAULT_COMPACTION, NEXT_MODE } from './compaction.ts'
import { THRESHOLD_RANGE } from './context-window.ts'
import { defined } from './defined.ts'
import type { Json } from './json.ts'
import { isTargetHandle } from './target.ts'

/**
 * The agent's compaction settings, parsed from the client's format, with the operator's threshold unless the agent has
 * its own. Undefined if neither is set.
 */
export function compactionSettingsOf(
  { settings }: Pick<Agent, 'settings'>,
  operatorThreshold?: number,
): CompactionSettings | undefined {
  const stored = settings?.wire?.compaction_settings
  const defaults = { ...DEFAULT_COMPACTION, ...defined({ threshold: operatorThreshold }) }
  if (stored === null || typeof stored !== 'object' || Array.isArray(stored))
    return operatorThreshold === undefined ? undefined : defaults
  const { model, prompt, mode, sliding_window_percentage: share, clip_chars: clip, threshold } = stored
  return {
    ...defaults,
    // "letta/auto" means the agent's own model.
    ...defined({
      model: typeof model === 'string' && isTargetHandle(model) && model !== 'letta/auto' ? model : undefined,
      prompt: typeof prompt === 'string' && prompt !== '' ? prompt : undefined,
      mode: typeof mode === 'string' && mode in NEXT_MODE ? (mode as CompactionMode) : undefined,
      slidingWindowPercentage: typeof share === 'number' && share > 0 && share <= 1 ? share : undefined,
      clipChars: typeof clip === 'number' && clip >= 1 ? clip : undefined,
      threshold: isThreshold(threshold) ? threshold : undefined,
    }),
  }
}

/** An imported agent file may hold any value. */
const isThreshold = (value: Json | undefined): value is number =>
  typeof value === 'number' && value >= THRESHOLD_RANGE.min && value <= THRESHOLD_RANGE.max
