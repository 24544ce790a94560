import { runWords } from '../../service/runs/run-words.ts'
import { listRuns, showRun } from '../../service/runs/runs.ts'
import { withApp } from '../context.ts'
import { renderStory } from '../render/story.ts'
import { playChat } from './child.ts'
import { requireSeen, type Stage } from './stage.ts'

/** A process dies in the middle of a turn, and the next one finishes it. */
export async function crashScene(stage: Stage): Promise<void> {
  const { tell, out, isFast } = stage
  const { red, bold } = out.look.paint
  const to = isFast ? 4 : 8
  const killAt = isFast ? 2 : 4
  tell.scene('kill -9 in the middle of a turn')
  await tell.say(
    `Another process is started and told to count to ${to}. At ${killAt} it is killed: no warning, no goodbye.`,
  )
  const killed = await playChat(stage, {
    input: `count to ${to}\n`,
    isTimeToKill: (output) => output.includes(`${killAt} of ${to}`),
  })
  requireSeen(killed.signal === 'SIGKILL', 'a process that died of SIGKILL')
  out.line(red(bold('Killed (SIGKILL)')))
  await showDisk(stage)

  await tell.say('Nobody repairs anything. Holdfast is simply started again:')
  await tell.say('It replays what you saw, then goes on. Counting does no harm, so the tool may run again.')
  const recovered = await playChat(stage, { input: '' })
  requireSeen(recovered.code === 0, 'a new process that started and ended well')
  await showStory(stage)
}

const showDisk = (stage: Stage): Promise<void> =>
  withApp(stage, 'guest', async ({ desk }) => {
    const { tell } = stage
    const [run] = await listRuns({}, 1, desk)
    const { events } = await showRun(run!.id, desk)
    const isStarted = events.some(({ event }) => event.type === 'tool-started')
    requireSeen(run!.status === 'running' && isStarted, 'a turn on disk whose tool had started')
    await tell.say(
      `What it left on disk: ${run!.id} is still "running", and its log ends with a tool that was started.`,
    )
  })

const showStory = (stage: Stage): Promise<void> =>
  withApp(stage, 'guest', async ({ desk }) => {
    const { tell, out } = stage
    const [run] = await listRuns({}, 1, desk)
    const story = await showRun(run!.id, desk)
    const types = story.events.map(({ event }) => event.type)
    const isDone = run!.stopReason === 'end_turn' && story.messages.some(({ body }) => body.role === 'tool')
    requireSeen(isDone && types.includes('worker-lost'), 'the same turn, taken over and finished')
    await tell.seen('The new process saw that the old one had died, took the turn over and finished it.')
    await tell.say(`Nothing of this is hidden. This is holdfast runs show ${run!.id}:`)
    for (const line of renderStory(story, await runWords(desk), out.look)) out.line(line)
  })
