import { Problem } from '../../core/problem.ts'
import { type CliContext, printJson } from '../cli-context.ts'
import { findServer, newServerConnection } from '../server/server-connection.ts'

/** Prints an address that signs a browser of this machine in. */
export async function openConsole(
  flags: { json?: boolean },
  { environment, homeOf, out, notes }: CliContext,
): Promise<void> {
  const home = homeOf(environment)
  const url = await findServer(home)
  if (!url)
    throw new Problem(
      'unavailable',
      'No server runs on this home, so there is no console. Start one with `holdfast serve`.',
    )
  const notify = (sentence: string) => notes.line(sentence)
  const connection = newServerConnection({ home, givenKey: environment.HOLDFAST_API_KEY?.trim(), notify })
  const { path } = await connection.request<{ path: string }>('POST', '/v1/session/links', {})
  if (flags.json) return printJson(out, { url: `${url}${path}` })
  out.line(`${url}${path}`)
  notes.line('Open it in a browser of this machine: it signs in once, within ten minutes.')
}
