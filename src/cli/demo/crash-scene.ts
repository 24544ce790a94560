import { readRunLabels } from '../../service/runs/run-labels.ts'
import { listRuns, showRun } from '../../service/runs/runs.ts'
import { withApp } from '../cli-context.ts'
import { commandLine } from '../program-name.ts'
import { renderStory } from '../render/story.ts'
import { runChat } from './chat-child.ts'
import { requireSeen, type Stage } from './stage.ts'

/** A process is killed during a turn, and the next process finishes the turn. */
export async function crashScene(stage: Stage): Promise<void> {
  const { narrator, out, isFast } = stage
  const { red, bold } = out.look.paint
  const to = isFast ? 4 : 8
  const killAt = isFast ? 2 : 4
  narrator.scene('kill -9 in the middle of a turn')
  await narrator.say(`A second process is asked to count to ${to}. At ${killAt} it is killed without warning.`)
  const killed = await runChat(stage, {
    input: `count to ${to}\n`,
    shouldKill: (output) => output.includes(`${killAt} of ${to}`),
  })
  requireSeen(killed.signal === 'SIGKILL', 'a process that died of SIGKILL')
  out.line(red(bold('Killed (SIGKILL)')))
  await showDisk(stage)

  await narrator.say('No repair is needed. Holdfast is started again.')
  await narrator.say('It replays what you saw and continues. Counting has no side effects, so the tool may run again.')
  const recovered = await runChat(stage, { input: '' })
  requireSeen(recovered.code === 0, 'a new process that started and ended well')
  await showStory(stage)
}

const showDisk = (stage: Stage): Promise<void> =>
  withApp(stage, 'guest', async ({ context }) => {
    const { narrator } = stage
    const [run] = await listRuns({}, 1, context)
    const { events } = await showRun(run!.id, context)
    const isStarted = events.some(({ event }) => event.type === 'tool-started')
    requireSeen(run!.status === 'running' && isStarted, 'a turn on disk whose tool had started')
    await narrator.say(`On disk: ${run!.id} is still "running", and its log ends with a started tool.`)
  })

const showStory = (stage: Stage): Promise<void> =>
  withApp(stage, 'guest', async ({ context }) => {
    const { narrator, out } = stage
    const [run] = await listRuns({}, 1, context)
    const story = await showRun(run!.id, context)
    const types = story.events.map(({ event }) => event.type)
    const isDone = run!.stopReason === 'end_turn' && story.messages.some(({ body }) => body.role === 'tool')
    requireSeen(isDone && types.includes('worker-lost'), 'the same turn, taken over and finished')
    await narrator.seen('The new process noticed that the old one had died, took over its turn and finished it.')
    await narrator.say(`All of this is on record. This is ${commandLine(`runs show ${run!.id}`)}:`)
    for (const line of renderStory(story, await readRunLabels(context), out.look)) out.line(line)
  })
