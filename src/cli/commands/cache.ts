import { Problem } from '../../core/problem.ts'
import { type CliContext, printJson } from '../cli-context.ts'
import { findServer, newServerConnection } from '../server/server-connection.ts'

type CacheReport = {
  conversations: number
  bytes: number
  in_a_turn: string[]
  hits: number
  misses: Record<string, number>
  evictions: Record<string, number>
  limits: { conversations: number; bytes: number; idle_seconds: number }
}

const MEGABYTE = 1024 * 1024

/** The history cache lives in the server process, so the command needs a running server. */
export async function cache(flags: { json?: boolean }, { environment, homeOf, out, notes }: CliContext): Promise<void> {
  const home = homeOf(environment)
  if (!(await findServer(home)))
    throw new Problem(
      'unavailable',
      'No server runs on this home, so there is no conversation cache. Start one with `holdfast serve`.',
    )
  const notify = (sentence: string) => notes.line(sentence)
  const connection = newServerConnection({ home, givenKey: environment.HOLDFAST_API_KEY?.trim(), notify })
  const report = await connection.request<CacheReport>('GET', '/v1/cache')
  if (flags.json) return printJson(out, report)
  const { conversations, bytes, limits, hits, misses, evictions } = report
  const megabytes = (count: number) => `${(count / MEGABYTE).toFixed(1)} MB`
  const counted = (counts: Record<string, number>) =>
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([why, count]) => `${count} ${why}`)
      .join(', ') || 'none'
  out.line(`Cached     ${conversations} of at most ${limits.conversations} conversations`)
  out.line(`Memory     about ${megabytes(bytes)} of at most ${megabytes(limits.bytes)}`)
  out.line(`In use     ${report.in_a_turn.join(', ') || 'none'}`)
  out.line(`Hits       ${hits}`)
  out.line(`Misses     ${counted(misses)}`)
  out.line(`Evictions  ${counted(evictions)}`)
}
