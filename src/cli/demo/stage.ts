import { setTimeout as sleep } from 'node:timers/promises'
import type { CliContext } from '../cli-context.ts'

/** Something the demo promised to show did not happen. */
export class NotSeen extends Error {}

/** What a scene plays on: a context whose home is temporary, and a narrator. */
export type Stage = CliContext & { home: string; isFast: boolean; narrator: Narrator }

type Narrator = {
  scene(title: string): void
  /** In plain words, before it happens or after it was seen. */
  say(text: string): Promise<void>
  /** What a person would type. */
  type(line: string): Promise<void>
  seen(text: string): Promise<void>
}

/** About the time it takes to read a line. */
const READING_MS = 1_600

export function newNarrator({ out }: CliContext, isFast: boolean): Narrator {
  const { bold, cyan, green } = out.look.paint
  const pause = () => (isFast ? Promise.resolve() : sleep(READING_MS))
  let scenes = 0
  return {
    scene(title) {
      scenes += 1
      out.line(`\n${bold(cyan(`${scenes}. ${title}`))}`)
    },
    async say(text) {
      out.line(text)
      await pause()
    },
    async type(line) {
      out.line(`${bold('you ›')} ${line}`)
      await pause()
    },
    async seen(text) {
      out.line(`${green('✓')} ${text}`)
      await pause()
    },
  }
}

export function requireSeen(wasSeen: unknown, what: string): asserts wasSeen {
  if (!wasSeen) throw new NotSeen(`This should have happened and did not: ${what}.`)
}
