import { Problem } from '../../core/problem.ts'
import { type Context, printJson } from '../context.ts'
import { findServer, serverLine } from '../server/server-line.ts'

type CacheStory = {
  conversations: number
  bytes: number
  in_a_turn: string[]
  hits: number
  misses: Record<string, number>
  evictions: Record<string, number>
  limits: { conversations: number; bytes: number; idle_seconds: number }
}

const MEGABYTE = 1024 * 1024

/** What the running server keeps warm; without a server nothing is. */
export async function cache(flags: { json?: boolean }, { environment, homeOf, out, notes }: Context): Promise<void> {
  const home = homeOf(environment)
  if (!(await findServer(home))) throw new Problem('unavailable', 'No server owns this home, so nothing is kept warm.')
  const tell = (sentence: string) => notes.line(sentence)
  const line = serverLine({ home, givenKey: environment.HOLDFAST_API_KEY?.trim(), tell })
  const told = await line.ask<CacheStory>('GET', '/v1/cache')
  if (flags.json) return printJson(out, told)
  const { conversations, bytes, limits, hits, misses, evictions } = told
  const megabytes = (count: number) => `${(count / MEGABYTE).toFixed(1)} MB`
  const counted = (counts: Record<string, number>) =>
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([why, count]) => `${count} ${why}`)
      .join(', ') || 'none'
  out.line(`Warm       ${conversations} of at most ${limits.conversations} conversations`)
  out.line(`Memory     about ${megabytes(bytes)} of at most ${megabytes(limits.bytes)}`)
  out.line(`In a turn  ${told.in_a_turn.join(', ') || 'none'}`)
  out.line(`Turns      ${hits} warm; cold: ${counted(misses)}`)
  out.line(`Let go     ${counted(evictions)}`)
}
