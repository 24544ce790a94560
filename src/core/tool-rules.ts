import type { Agent } from './agent.ts'

/** The tools after which this agent has done what it was asked for. Its other rules are kept and told, and bind nobody. */
export function exitToolsOf({ settings }: Pick<Agent, 'settings'>): string[] {
  const rules = settings?.wire?.tool_rules
  if (!Array.isArray(rules)) return []
  return rules.flatMap((rule) => {
    if (rule === null || typeof rule !== 'object' || Array.isArray(rule)) return []
    return rule.type === 'exit_loop' && typeof rule.tool_name === 'string' ? [rule.tool_name] : []
  })
}
