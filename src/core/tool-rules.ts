import type { Agent } from './agent.ts'
import { defined } from './defined.ts'
import type { Json, JsonObject } from './json.ts'

/** Which tool may follow which in one turn. Rules look at the calls of the current turn only. */
export type ToolRule =
  /** The turn starts with one of these tools, with these arguments. */
  | { type: 'first'; tool: string; args?: JsonObject }
  /** Directly after `tool`, only `children` may be called, with the arguments set for each. */
  | { type: 'then-only'; tool: string; children: string[]; args?: Record<string, JsonObject> }
  /** `children` may be called only directly after `tool`, and directly after it only they may. */
  | { type: 'only-after'; tool: string; children: string[] }
  /** The output of `tool` decides the next tool; `isStrict`: after any other output no tool may be called. */
  | { type: 'by-answer'; tool: string; children: Record<string, string>; otherwise?: string; isStrict: boolean }
  | { type: 'at-most'; tool: string; count: number }
  /** The turn may not end before it is called. */
  | { type: 'required'; tool: string }

/** The tools called in a turn so far, oldest first, and the output of the last one if known. */
export type CallHistory = { tools: readonly string[]; lastAnswer?: string }

/** The rules that limit when a tool may be called. Approval and exit rules are handled elsewhere. */
export const toolRulesOf = (agent: Pick<Agent, 'settings'>): ToolRule[] => wireRules(agent).flatMap(parseRule)

/** The tools that end the turn. */
export const exitToolsOf = (agent: Pick<Agent, 'settings'>): string[] =>
  wireRules(agent).flatMap(({ type, tool_name }) => (type === 'exit_loop' ? [String(tool_name)] : []))

/** The agent's tools that may be called now. */
export function allowedTools(names: readonly string[], rules: readonly ToolRule[], called: CallHistory): string[] {
  const openers = called.tools.length === 0 ? rules.flatMap((rule) => (rule.type === 'first' ? [rule.tool] : [])) : []
  const candidates = openers.length > 0 ? names.filter((name) => openers.includes(name)) : [...names]
  return rules.reduce((left, rule) => left.filter((name) => permits(rule, name, called)), candidates)
}

/** True if the rules force a call: the turn must start with a tool, or only one tool may follow. */
export function mustCall(allowed: readonly string[], rules: readonly ToolRule[], called: CallHistory): boolean {
  if (allowed.length === 0) return false
  const last = called.tools.at(-1)
  if (last === undefined) return rules.some((rule) => rule.type === 'first')
  return allowed.length === 1 && rules.some((rule) => rule.tool === last && restrictsNext(rule))
}

/** The tools that must still be called before the turn may end. */
export const stillRequired = (rules: readonly ToolRule[], called: CallHistory): string[] =>
  rules.flatMap(({ type, tool }) => (type === 'required' && !called.tools.includes(tool) ? [tool] : []))

/** The arguments that the rules set for a call now; they replace those of the model. Later rules win. */
export function argumentsSetBy(
  rules: readonly ToolRule[],
  tool: string,
  { tools }: CallHistory,
): JsonObject | undefined {
  const last = tools.at(-1)
  const set = rules.flatMap((rule) => {
    if (rule.type === 'first') return last === undefined && rule.tool === tool ? [rule.args] : []
    if (rule.type !== 'then-only' || rule.tool !== last || !rule.args) return []
    return Object.hasOwn(rule.args, tool) ? [rule.args[tool]] : []
  })
  const given = set.filter((args) => args !== undefined)
  return given.length === 0 ? undefined : Object.assign({}, ...given)
}

/** Same text as the official server, which models may know. */
export const constraintRefusal = (tool: string, allowed: readonly string[]): string =>
  `[ToolConstraintError] Cannot call ${tool}, valid tools include: [${allowed.join(', ')}]`

const restrictsNext = ({ type }: ToolRule): boolean =>
  type === 'then-only' || type === 'only-after' || type === 'by-answer'

function permits(rule: ToolRule, name: string, { tools, lastAnswer }: CallHistory): boolean {
  const isNext = tools.at(-1) === rule.tool
  switch (rule.type) {
    case 'first':
    case 'required':
      return true
    case 'then-only':
      return !isNext || rule.children.includes(name)
    case 'only-after':
      return rule.children.includes(name) === isNext
    case 'at-most':
      return name !== rule.tool || tools.filter((tool) => tool === name).length < rule.count
    case 'by-answer': {
      if (!isNext) return true
      // Without an output yet, no tool may follow.
      if (lastAnswer === undefined) return false
      const child = rule.children[lastAnswer] ?? rule.otherwise
      return child === undefined ? !rule.isStrict : name === child
    }
  }
}

function wireRules({ settings }: Pick<Agent, 'settings'>): JsonObject[] {
  const rules = settings?.wire?.tool_rules
  if (!Array.isArray(rules)) return []
  return rules.filter((rule): rule is JsonObject => typeof rule === 'object' && rule !== null && !Array.isArray(rule))
}

const texts = (value: Json | undefined): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []

const textsByName = (value: Json | undefined): Record<string, string> =>
  Object.fromEntries(
    Object.entries(typeof value === 'object' && value !== null ? value : {}).flatMap(([name, child]) =>
      typeof child === 'string' ? [[name, child]] : [],
    ),
  )

const argsOf = (value: Json | undefined): JsonObject | undefined =>
  value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 0
    ? value
    : undefined

function childArgs({ child_arg_nodes: nodes }: JsonObject): Record<string, JsonObject> | undefined {
  const named = (Array.isArray(nodes) ? nodes : []).flatMap((node) => {
    const { name, args } = argsOf(node) ?? {}
    const set = argsOf(args)
    return typeof name === 'string' && set ? [[name, set] as const] : []
  })
  return named.length === 0 ? undefined : Object.fromEntries(named)
}

function parseRule(wire: JsonObject): ToolRule[] {
  const tool = String(wire.tool_name)
  switch (wire.type) {
    case 'run_first':
      return [{ type: 'first', tool, ...defined({ args: argsOf(wire.args) }) }]
    case 'constrain_child_tools':
      return [{ type: 'then-only', tool, children: texts(wire.children), ...defined({ args: childArgs(wire) }) }]
    case 'parent_last_tool':
      return [{ type: 'only-after', tool, children: texts(wire.children) }]
    case 'conditional':
      return [
        {
          type: 'by-answer',
          tool,
          children: textsByName(wire.child_output_mapping),
          ...defined({ otherwise: typeof wire.default_child === 'string' ? wire.default_child : undefined }),
          isStrict: wire.require_output_mapping === true,
        },
      ]
    case 'max_count_per_step':
      return typeof wire.max_count_limit === 'number' ? [{ type: 'at-most', tool, count: wire.max_count_limit }] : []
    case 'required_before_exit':
      return [{ type: 'required', tool }]
    default:
      return []
  }
}
