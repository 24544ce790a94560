import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from '../../ports/environment.ts'
import type { CliContext } from '../cli-context.ts'
import { crashScene } from '../demo/crash-scene.ts'
import { NotSeen, newNarrator, requireSeen, type Stage } from '../demo/stage.ts'
import { playTurns } from '../demo/turn-scenes.ts'
import { INTERRUPTED } from '../exit-codes.ts'
import { onSignals } from '../signals.ts'
import { doctor } from './doctor.ts'

/** A guided minute. Exit code 0 only if everything it tells of was seen to happen. */
export async function demo({ fast = false }: { fast?: boolean }, cli: CliContext): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-demo-'))
  const clear = () => rmSync(home, { recursive: true, force: true })
  // Everything in this home is play: there is nothing to hand over when somebody has seen enough.
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
  await narrator.say(
    `Everything happens in ${stage.home}, which is removed at the end. No key and no network are needed.`,
  )
  await playTurns(stage)
  await crashScene(stage)
  narrator.scene('Is everything all right?')
  await narrator.say('holdfast doctor checks every promise against what is on disk:')
  requireSeen((await doctor({}, stage)) === 0, 'a store without violations')
  out.line('\nYour turn: `npm run chat` to talk, `npm start` to serve, `npm run holdfast -- --help` for the rest.')
}

/** The user's own settings, above all their database, have no part in this. */
function demoEnvironment(environment: Environment, home: string): Environment {
  const kept = Object.entries(environment).filter(([name]) => name !== 'DATABASE_URL' && !name.startsWith('HOLDFAST_'))
  return { ...Object.fromEntries(kept), HOLDFAST_HOME: home }
}
