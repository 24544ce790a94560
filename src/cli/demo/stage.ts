import { setTimeout as sleep } from 'node:timers/promises'
import type { CliContext } from '../cli-context.ts'

/** A step of the demo did not happen. */
export class NotSeen extends Error {}

/** Passed to every scene: a CLI context with a temporary home, and a narrator. */
export type Stage = CliContext & { home: string; isFast: boolean; narrator: Narrator }

type Narrator = {
  scene(title: string): void
  /** Explains what happens next. */
  say(text: string): Promise<void>
  /** Shows a line as a user would type it. */
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
  if (!wasSeen) throw new NotSeen(`The demo failed: expected ${what}.`)
}
