import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { run } from 'node:test'
import { parseArgs } from 'node:util'
import { filesOfFailures } from './again.ts'
import { inBatches } from './batches.ts'
import { builtCommand } from './built-command.ts'
import { chooseFiles } from './choose-files.ts'
import { keepDurations, longestFirst } from './durations.ts'
import { startPostgresServer } from './harness/postgres.ts'
import { type Count, report } from './summary.ts'

/**
 * The test command: runs every test file except the heavy ones (`*.heavy.test.ts`). `--all` includes them.
 * `--postgres`, `--http` and `--workspaces` run all files of that area. Names after the options select the files whose
 * path contains one of them. `--again` runs the files of failed tests once more, alone: a test that passes then is
 * printed as unsteady, and the command succeeds.
 */
const { values, positionals } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    again: { type: 'boolean', default: false },
    postgres: { type: 'boolean', default: false },
    http: { type: 'boolean', default: false },
    workspaces: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const files = chooseFiles(values, positionals)
if (files.length === 0) {
  console.error(`No test file matches ${positionals.join(' or ')}.`)
  process.exit(1)
}

// Many files wait for processes and leases rather than compute.
const FILES_PER_CORE = 2

// An exit ends the PostgreSQL server; without these handlers a signal would leave it behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const mentionsPostgres = (file: string) => readFileSync(file, 'utf8').includes('harness/postgres.ts')
const databaseUrl = process.env.TEST_DATABASE_URL
const server = !databaseUrl && files.some(mentionsPostgres) ? await startPostgresServer() : undefined
const environment: NodeJS.ProcessEnv = {
  ...process.env,
  // Hundreds of processes start from source: they share the compiled code.
  NODE_COMPILE_CACHE: resolve('node_modules/.cache/holdfast-tests'),
  HOLDFAST_COMMAND: await builtCommand(),
  HOLDFAST_TESTS: values.all || positionals.length > 0 ? 'all' : 'slice',
}
// One server for all files, a database for each test. If none can run, each file skips its tests and reports why.
if (server && 'url' in server) environment.TEST_DATABASE_URL = server.url

// A file that is selected by name runs in its own process.
const first = await runFiles(positionals.length > 0 ? files : inBatches(files), FILES_PER_CORE)
const again = values.again && first.failed > 0 ? filesOfFailures(first.failures, files) : undefined
if (again) console.log(`\nOnce more, alone: ${again.join(', ')}`)
const last = again ? await runFiles(again, 0) : first
if (again && last.failed === 0) {
  console.log('\nUnsteady: these failed beside other tests and passed alone. Each is to be mended.')
  for (const { name, file } of first.failures) console.log(`  ${name}\n    ${file}`)
}
process.exitCode = last.failed > 0 ? 1 : 0
if (server && 'url' in server) await server.stop()

async function runFiles(chosen: readonly string[], perCore: number): Promise<Count> {
  const tests = run({
    files: longestFirst(chosen).map((file) => resolve(file)),
    concurrency: Math.max(1, Math.ceil(availableParallelism() * perCore)),
    // A test that hangs fails and is named. Even on a busy machine only a hang takes this long.
    timeout: 300_000,
    env: environment,
  })
  keepDurations(tests)
  return report(tests)
}
