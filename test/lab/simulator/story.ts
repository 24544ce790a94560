import type { SeedReport } from './seed.ts'

const ID = /\b(run|message|step|worker|conv|agent)-[0-9a-f]{8}-[0-9a-f-]{27}/g
const SENT = /^\S+ \S+: send (\S+) .*: ok, it is (run-\S+)$/
/** Events of a process concern every run in it. */
const OF_A_PROCESS = / (is killed|is paused|starts as|the clock of|the faults are over|the calm phase begins)/
const NOISE = /fault (store-slow|wakeup-lost|wakeup-doubled)|commits to \S+: nothing|list approvals/

/**
 * The story with names instead of ids, reduced to the violating runs and their processes. Without a violation it
 * includes everything but the noise.
 */
export function storyLines({ story, violations, conversations }: SeedReport): string[] {
  const runs = new Set(violations.flatMap((text) => text.match(ID) ?? []).filter((id) => id.startsWith('run-')))
  const conversation = conversations.find((ids) => ids.some((id) => runs.has(id)))
  const names = nameIds(story)
  const named = (line: string) => line.replace(ID, (id) => names.get(id) ?? id)
  const processes = new Set<string>()
  const lines = story.filter((line) => {
    if (NOISE.test(line)) return false
    if (runs.size === 0) return true
    const concerns = [...runs].some((id) => line.includes(id))
    if (concerns) for (const name of line.match(/\bp\d+\b/g) ?? []) processes.add(name)
    const isSameConversation = conversation?.some((id) => line.includes(id) && / claims | takes over /.test(line))
    return concerns || isSameConversation || OF_A_PROCESS.test(line) || line.includes('VIOLATION')
  })
  // Include faults of processes that held one of the runs.
  const faults = story.filter(
    (line) => line.includes(' fault ') && !NOISE.test(line) && [...processes].some((name) => line.endsWith(` ${name}`)),
  )
  const chosen = new Set([...lines, ...(runs.size > 0 ? faults : [])])
  return story.filter((line) => chosen.has(line)).map(named)
}

export const nameIdsIn = (text: string, story: readonly string[]): string => {
  const names = nameIds(story)
  return text.replace(ID, (id) => names.get(id) ?? id)
}

/** A run is named after the message that opened it; other ids are numbered. */
function nameIds(story: readonly string[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const line of story) {
    const [, key, id] = SENT.exec(line) ?? []
    if (key && id && !names.has(id)) names.set(id, `run:${key}`)
  }
  const counts = new Map<string, number>()
  for (const line of story)
    for (const id of line.match(ID) ?? []) {
      if (names.has(id)) continue
      const kind = id.slice(0, id.indexOf('-'))
      const count = (counts.get(kind) ?? 0) + 1
      counts.set(kind, count)
      names.set(id, `${kind}:${count}`)
    }
  return names
}
