import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from '../../ports/environment.ts'
import { type CliContext, printJson } from '../cli-context.ts'
import { crashScene } from '../demo/crash-scene.ts'
import { NotSeen, newNarrator, requireSeen, type Stage } from '../demo/stage.ts'
import { playTurns } from '../demo/turn-scenes.ts'
import { INTERRUPTED } from '../exit-codes.ts'
import { commandLine } from '../program-name.ts'
import { onSignals } from '../signals.ts'
import type { Screen } from '../terminal.ts'
import { doctor } from './doctor.ts'

/** A guided tour of one minute. Exit code 0 only if every step was observed to happen. */
export async function demo(
  { fast = false, json }: { fast?: boolean; json?: boolean },
  cli: CliContext,
): Promise<number> {
  if (!json) return show(fast, cli)
  // With --json only the outcome is printed.
  const silent: Screen = { ...cli.out, look: cli.out.look, write: () => {}, line: () => {} }
  const exit = await show(true, { ...cli, out: silent })
  printJson(cli.out, { ok: exit === 0 })
  return exit
}

async function show(fast: boolean, cli: CliContext): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-demo-'))
  const clear = () => rmSync(home, { recursive: true, force: true })
  // The home is temporary: an interrupted demo has nothing to hand over.
  const leave = () => {
    clear()
    process.exit(INTERRUPTED)
  }
  const stopListening = onSignals({ interrupt: leave, terminate: leave })
  const narrator = newNarrator(cli, fast)
  try {
    await play({ ...cli, environment: demoEnvironment(cli.environment, home), home, isFast: fast, narrator })
    return 0
  } catch (fault) {
    if (!(fault instanceof NotSeen)) throw fault
    cli.notes.line(`holdfast: ${fault.message}`)
    return 1
  } finally {
    stopListening()
    clear()
  }
}

async function play(stage: Stage): Promise<void> {
  const { narrator, out } = stage
  out.line(out.look.paint.bold('Holdfast in a minute'))
  await narrator.say(`This runs in ${stage.home}, which is removed at the end. It needs no API key and no network.`)
  await playTurns(stage)
  await crashScene(stage)
  narrator.scene('Is the data still sound?')
  await narrator.say(`${commandLine('doctor')} checks every invariant on the stored data:`)
  requireSeen((await doctor({}, stage)) === 0, 'a store without violations')
  out.line(
    `\nYour turn: \`${commandLine('chat')}\` to chat, \`${commandLine('serve')}\` for the server, \`${commandLine('--help')}\` for all commands.`,
  )
}

/** Without the settings of the user, above all their database. */
function demoEnvironment(environment: Environment, home: string): Environment {
  const kept = Object.entries(environment).filter(([name]) => name !== 'DATABASE_URL' && !name.startsWith('HOLDFAST_'))
  return { ...Object.fromEntries(kept), HOLDFAST_HOME: home }
}
