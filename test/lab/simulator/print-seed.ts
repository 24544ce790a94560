import { runSeed } from './seed.ts'
import { shrink } from './shrink.ts'
import { nameIdsIn, storyLines } from './story.ts'

/** Prints one seed as a story and returns the exit code. A failing seed is shrunk first. */
export async function printSeed(seed: number): Promise<number> {
  const shrunk = await shrink(seed)
  const report = shrunk?.report ?? (await runSeed({ seed }))
  const faults = [...report.faults].map(([fault, times]) => `${fault} ×${times}`).join(', ')
  for (const line of storyLines(report)) console.log(line)
  console.log('')
  console.log(`seed ${seed}: ${report.runs} runs, ${report.events} events, story ${report.hash}`)
  console.log(`faults injected: ${faults || 'none'}`)
  if (!shrunk) {
    console.log('no violation')
    return 0
  }
  const { clients = 3, durationMs, allow, exactly } = shrunk.options
  const kinds = [...(exactly ?? allow ?? [])].join(', ') || 'no faults'
  const other = shrunk.options.seed === seed ? '' : ` on seed ${shrunk.options.seed}`
  const day = durationMs === undefined ? '' : `, a day of ${durationMs / 1_000} s`
  console.log(`shrunk to ${kinds}, ${clients} clients${day}${other}; it still violates:`)
  for (const text of report.violations) console.log(`  ${nameIdsIn(text, report.story)}`)
  return 1
}
