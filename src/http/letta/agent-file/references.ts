import { Problem } from '../../../core/problem.ts'

type WithId = { id: string }
type FileParts = {
  agents: readonly (WithId & {
    messages?: readonly { id?: string | null | undefined }[] | null | undefined
    in_context_message_ids?: readonly string[] | null | undefined
    tool_ids?: readonly string[] | null | undefined
    block_ids?: readonly string[] | null | undefined
  })[]
  blocks?: readonly WithId[] | null | undefined
  tools?: readonly WithId[] | null | undefined
}

/** Ids are how the parts of a file refer to each other: with two of one id, or none, a reference has no meaning. */
export function refuseRepeatedIds({ agents, blocks, tools }: FileParts): void {
  refuseRepeated(
    'agents',
    agents.map(({ id }) => id),
  )
  refuseRepeated(
    'blocks',
    (blocks ?? []).map(({ id }) => id),
  )
  refuseRepeated(
    'tools',
    (tools ?? []).map(({ id }) => id),
  )
  for (const [index, agent] of agents.entries()) {
    const where = `agents.${index}`
    const messages = (agent.messages ?? []).flatMap(({ id }) => id ?? [])
    refuseRepeated(`${where}.messages`, messages)
    refuseRepeated(`${where}.tool_ids`, agent.tool_ids ?? [])
    refuseRepeated(`${where}.block_ids`, agent.block_ids ?? [])
    refuseRepeated(`${where}.in_context_message_ids`, agent.in_context_message_ids ?? [])
    const known = new Set(messages)
    const dangling = (agent.in_context_message_ids ?? []).find((id) => !known.has(id))
    if (dangling !== undefined) throw invalid(`${where}.in_context_message_ids: ${shown(dangling)} is not in the file`)
  }
}

function refuseRepeated(where: string, ids: readonly string[]): void {
  const seen = new Set<string>()
  for (const id of ids) {
    if (seen.has(id)) throw invalid(`${where}: the id ${shown(id)} occurs twice`)
    seen.add(id)
  }
}

/** A tool that the model cannot call by a name would be lost without a word. */
export function requireToolNames(tools: readonly { name: string | undefined; id: string }[]): void {
  const names = new Set<string>()
  for (const { name, id } of tools) {
    if (!name) throw new Problem('invalid', `tool ${shown(id)} has no name`)
    if (names.has(name)) throw new Problem('invalid', `two of its tools are named ${shown(name)}`)
    names.add(name)
  }
}

/** A file may have a thousand agents: the index of a list is made once. */
const indexes = new WeakMap<readonly object[], Map<string, unknown>>()

export function requireByIds<T extends WithId>(items: readonly T[], ids: readonly string[]): T[] {
  const byId = indexes.get(items) ?? new Map(items.map((item) => [item.id, item]))
  indexes.set(items, byId)
  return ids.map((id) => {
    const item = byId.get(id)
    if (item) return item as T
    throw new Problem('invalid', `it refers to ${shown(id)}, which is not in the file`)
  })
}

const shown = (text: string): string => text.slice(0, 200)

const invalid = (message: string) => new Problem('invalid-argument', `The file is not a valid agent file: ${message}.`)
