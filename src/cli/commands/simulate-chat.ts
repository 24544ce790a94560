import { createInterface } from 'node:readline'
import { type PlatformName, titleOf } from '../../core/gateway/platforms.ts'
import { Problem } from '../../core/problem.ts'
import type { CliContext, SimulatedChatMessage } from '../cli-context.ts'
import { commandLine } from '../program-name.ts'
import { onSignals } from '../signals.ts'
import { safeText } from '../terminal.ts'
import { wholeNumber } from '../whole-number.ts'

/** Simulates a chat platform until a signal ends the process. Lines of the terminal are messages of a person. */
export async function simulateChat(
  platform: PlatformName,
  flags: { json?: boolean; port: string },
  cli: Pick<CliContext, 'simulateChat' | 'out'>,
): Promise<number> {
  const { out } = cli
  const port = wholeNumber('--port', flags.port, { from: 0, to: 65_535 })
  const shown = new Map<string, string>()
  const served = await cli.simulateChat({ platform, port, onMessage: print })
  if (served.type === 'refused') throw new Problem('unavailable', served.reasons.join('\n  '))
  const { page, variables, say, close } = served
  if (flags.json) out.line(JSON.stringify({ url: page, variables }))
  else introduce(page, variables)
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => line.trim() !== '' && say(line))
  await new Promise<void>((resolve) => {
    const stop = onSignals({ interrupt: end, terminate: end })
    function end() {
      stop()
      resolve()
    }
  })
  lines.close()
  process.stdin.unref?.()
  await close()
  return 0

  /** Of a message that grows, only what is new. */
  function print({ id, text, buttons }: SimulatedChatMessage): void {
    if (flags.json) out.line(JSON.stringify({ message_id: id, text, buttons }))
    if (flags.json) return
    if (text === '…' || text.endsWith('▌') || text.includes('⏳')) return
    const said =
      buttons.length > 0 ? `${text}\n[${buttons.join('] [')}] press them on the page, or write the words above` : text
    if (shown.get(id) === said) return
    shown.set(id, said)
    for (const line of said.split('\n')) out.line(`  ${out.look.paint.green('bot')} ${safeText(line)}`)
  }

  function introduce(page: string, variables: Readonly<Record<string, string>>): void {
    const environment = Object.entries(variables)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')
    const { bold, dim } = out.look.paint
    out.line(`${bold(`A simulated ${titleOf(platform)}`)} ${dim('(nothing leaves this machine; Ctrl-C stops it)')}`)
    out.line()
    out.line(`Start a server that uses it, in another terminal:`)
    out.line(`  ${bold(`${environment} ${commandLine('serve')}`)}`)
    out.line()
    out.line(`Then write to the bot here, line by line, or on the page ${bold(page)}`)
    out.line(dim('It shows you a pairing code first, and the command with which its owner lets you in.'))
    out.line()
  }
}
