import type { IdPrefix } from '../core/id.ts'
import { Problem } from '../core/problem.ts'
import { ambiguous, idStart } from '../service/short-id.ts'

type PickOptions = {
  prefix: IdPrefix
  /** For messages: `MCP server`. */
  noun: string
  /** The command that lists what there is: `mcp`. */
  lister: string
}

/** The object with this name, with this id, or with the only id that begins so; for nouns whose list is short. */
export function pickOne<T extends { id: string; name: string }>(
  all: readonly T[],
  which: string,
  { prefix, noun, lister }: PickOptions,
): T {
  const named = all.filter(({ id, name }) => name === which || id === which)
  const start = idStart(prefix, which)
  const found = named.length > 0 || start === undefined ? named : all.filter(({ id }) => id.startsWith(start))
  if (found.length > 1)
    throw ambiguous(
      which,
      found.map(({ id, name }) => `${id} (${name})`),
    )
  if (found[0]) return found[0]
  throw new Problem('not-found', `There is no ${noun} "${which}". \`holdfast ${lister}\` lists them.`)
}
