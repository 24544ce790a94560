import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { differencesOf } from './compare.ts'
import { corpus } from './corpus.ts'
import { readRecording, recordAnswers, writeRecording } from './recording.ts'

/**
 * Records the answers of the server to the corpus, or compares them with a recording. `--command` names the program of
 * another checkout: its `src/main.ts`, or a built `main.js`.
 */
const { values, positionals } = parseArgs({
  options: {
    compare: { type: 'string' },
    command: { type: 'string', default: fileURLToPath(new URL('../../../src/main.ts', import.meta.url)) },
  },
  allowPositionals: true,
})
const [out] = positionals
if (!out && !values.compare) {
  console.error('usage: record.ts <out.json> | --compare <recorded.json>   [--command <main.ts or main.js>]')
  process.exit(2)
}

const started = performance.now()
const requests = corpus()
const answers = await recordAnswers(values.command, requests)
console.log(`${answers.length} requests in ${Math.round((performance.now() - started) / 1000)} s`)
if (out) writeRecording(out, answers)
if (values.compare) {
  const differences = differencesOf(readRecording(values.compare), answers, requests)
  for (const difference of differences) console.log(`\n${difference}`)
  console.log(`${differences.length} differences`)
  if (differences.length > 0) process.exitCode = 1
}
