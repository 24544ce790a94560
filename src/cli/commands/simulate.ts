import { readFileSync } from 'node:fs'
import { defined } from '../../core/defined.ts'
import { Problem } from '../../core/problem.ts'
import type { CliContext, SimulatedRequest } from '../cli-context.ts'
import { onSignals } from '../signals.ts'
import { type Screen, safeText, shortened } from '../terminal.ts'

type SimulateFlags = { json?: boolean; port: string; script?: string; key?: string[]; verbose?: boolean }

/** Simulates providers until a signal ends the process. */
export async function simulate(flags: SimulateFlags, cli: Pick<CliContext, 'simulate' | 'out'>): Promise<number> {
  const { out } = cli
  const served = await cli.simulate({
    port: parsePort(flags.port),
    keys: Object.fromEntries((flags.key ?? []).map(parseKeyFlag)),
    ...defined({ source: flags.script === undefined ? undefined : readScriptFile(flags.script) }),
    onEnded: (request) => printRequest(request, out, flags),
  })
  if (served.type === 'refused') {
    const heading = served.because === 'script' ? [`The script ${flags.script} is not valid:`] : []
    throw new Problem('invalid', [...heading, ...served.reasons].join('\n  '))
  }
  if (flags.json) out.line(JSON.stringify({ url: served.url, rules: served.rules }))
  else printIntroduction(served, out)
  await new Promise<void>((resolve) => {
    const stop = onSignals({ interrupt: end, terminate: end })
    function end() {
      stop()
      resolve()
    }
  })
  await served.close()
  return 0
}

function parsePort(flag: string): number {
  const port = Number(flag)
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port
  throw new Problem('invalid', `--port must be a number from 0 to 65535, not "${flag}".`)
}

function parseKeyFlag(flag: string): [string, string] {
  const at = flag.lastIndexOf('=')
  if (at > 0) return [flag.slice(0, at), flag.slice(at + 1)]
  throw new Problem('invalid', `--key must be name=state, for example sk-test=revoked, not "${flag}".`)
}

function readScriptFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (fault) {
    const code = (fault as NodeJS.ErrnoException).code
    throw new Problem('not-found', `The script ${path} cannot be read (${code}).`)
  }
}

function printIntroduction({ url, rules }: { url: string; rules: number }, out: Screen): void {
  const { bold, dim } = out.look.paint
  const what = rules === 0 ? 'it echoes every message' : `${rules} rule${rules === 1 ? '' : 's'}, otherwise echoes`
  out.line(`${bold(`The simulator listens on ${url}`)} ${dim(`(${what}; Ctrl-C stops it)`)}`)
  out.line()
  const served = [
    [`OPENAI_BASE_URL=${url}/v1`, 'Chat Completions, Responses, models'],
    [`ANTHROPIC_BASE_URL=${url}`, 'Messages'],
    [`GEMINI_BASE_URL=${url}`, 'generateContent, streamGenerateContent'],
    [`${url}/oauth/token`, 'with /oauth/authorize and /oauth/device/code'],
    [`${url}/account`, 'with /copilot_internal/v2/token'],
  ] as const
  const width = Math.max(...served.map(([address]) => address.length)) + 2
  for (const [address, what] of served) out.line(`  ${address.padEnd(width)}${dim(what)}`)
  out.line()
  out.line('Try it:')
  const body = '{"model":"simulated-model","stream":true,"messages":[{"role":"user","content":"Hello"}]}'
  out.line(`  curl -N ${url}/v1/chat/completions -H 'content-type: application/json' -d '${body}'`)
  out.line()
}

const MAX_BODY_CHARACTERS = 2000

function printRequest(request: SimulatedRequest, out: Screen, { verbose, json }: SimulateFlags): void {
  if (json) {
    out.line(JSON.stringify(requestJson(request, verbose)))
    return
  }
  const { dim } = out.look.paint
  const { number, method, path, protocol, model, key, status, ended, arrivedAt, body } = request
  // Only the end of the key: it may be a real one.
  const who = key === undefined ? 'no key' : `key …${key.slice(-4)}`
  const took = ended ? `${ended.how} after ${ended.at - arrivedAt} ms` : ''
  const target = model === '' ? `${method} ${path.split('?')[0]}` : model
  out.line(safeText(`#${number} ${protocol} ${target}, ${who}: ${status ?? 'no answer'}, ${took}`))
  if (verbose) out.line(dim(safeText(shortened(JSON.stringify(body), MAX_BODY_CHARACTERS))))
}

/** Only the end of the key: it may be a real one. */
const requestJson = ({ key, body, arrivedAt, ended, ...rest }: SimulatedRequest, verbose: boolean | undefined) => ({
  ...rest,
  key: key === undefined ? null : `…${key.slice(-4)}`,
  ended: ended ? { how: ended.how, after_ms: ended.at - arrivedAt } : null,
  ...defined({ body: verbose ? body : undefined }),
})
