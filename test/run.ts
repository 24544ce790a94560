import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { parseArgs } from 'node:util'

/**
 * The test command: every suite that fits into five minutes. Heavier ones have commands of their own and a slice here.
 * `--postgres` runs only what needs PostgreSQL, `--http` all of the server's; names after the options run only those files.
 */
const { values, positionals } = parseArgs({
  options: { postgres: { type: 'boolean', default: false }, http: { type: 'boolean', default: false } },
  allowPositionals: true,
})

const all = globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort()
/** Every behaviour in every mode against a server process each: minutes of their own. The other files are the slice. */
const HEAVY = ['test/http/approvals.test.ts', 'test/http/messages.test.ts', 'test/http/streams.test.ts']

const usual = values.http
  ? all.filter((file) => file.startsWith('test/http/'))
  : all.filter((file) => !HEAVY.includes(file))
const chosen = positionals.length > 0 ? all.filter((file) => positionals.some((name) => file.includes(name))) : usual
const files = values.postgres ? chosen.filter((file) => file.includes('postgres')) : chosen
if (files.length === 0) {
  console.error('no test file has such a name')
  process.exit(1)
}

// A test that hangs is a failed test: it is ended and named, not waited for.
const options = [
  '--test',
  '--test-concurrency=2',
  '--test-timeout=120000',
  '--test-reporter=dot',
  '--test-reporter-destination=stdout',
]
const runner = spawn(
  process.execPath,
  [...options, '--test-reporter=./test/summary.ts', '--test-reporter-destination=stdout', ...files],
  { stdio: 'inherit' },
)
runner.on('exit', (code) => {
  process.exitCode = code ?? 1
})
