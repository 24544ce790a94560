import { spawn } from 'node:child_process'
import { copyFileSync, globSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bundle } from '../bundle.ts'

/**
 * The test command: every suite that fits into five minutes. Heavier ones have commands of their own and a slice here.
 * `--postgres` runs only what needs PostgreSQL, `--http` all of the server's, `--workspaces` all of theirs; names after the
 * options run only those files.
 */
const { values, positionals } = parseArgs({
  options: {
    postgres: { type: 'boolean', default: false },
    http: { type: 'boolean', default: false },
    workspaces: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})

const all = globSync(['src/**/*.test.ts', 'test/**/*.test.ts']).sort()
function workspaces(name: string): string {
  return `test/workspaces/${name}.test.ts`
}

/** Minutes of their own: every behaviour in every mode on both databases, every way to die. The other files are the slice. */
const HEAVY = [
  ...['test/http/behaviours/on-sqlite.test.ts', 'test/http/behaviours/on-postgres.test.ts'],
  ...['test/http/commands.test.ts', 'test/http/slow-reader.test.ts'],
  ...['test/http/keys-postgres.test.ts', 'test/http/mcp-recovery.test.ts', 'test/http/recorded/recorded.test.ts'],
  ...[
    'test/http/callbacks-killed.test.ts',
    'test/http/callbacks-postgres.test.ts',
    'test/lab/kill/postgres-kill.test.ts',
  ],
  ...['api', 'bad-commands', 'bad-commands-greedy', 'bad-commands-sabotage', 'cancel-cases', 'cli'].map(workspaces),
  ...['egress', 'files-search', 'limits', 'process', 'process-killed', 'survival-starting'].map(workspaces),
  ...['survival-stopped', 'wake', 'wake-cases'].map(workspaces),
]

/** What the whole of it tries anyway. */
const SLICE = 'test/http/behaviours/slice.test.ts'

const whole = values.http ? 'test/http/' : values.workspaces ? 'test/workspaces/' : undefined
const usual = whole
  ? all.filter((file) => file.startsWith(whole) && file !== SLICE)
  : all.filter((file) => values.postgres || !HEAVY.includes(file))
const chosen = positionals.length > 0 ? all.filter((file) => positionals.some((name) => file.includes(name))) : usual
const files = values.postgres ? chosen.filter((file) => file.includes('postgres')) : chosen
if (files.length === 0) {
  console.error('no test file has such a name')
  process.exit(1)
}

// The command is started hundreds of times, and built it starts in a third of the time.
const built = resolve('node_modules/.cache/holdfast-built')
await bundle(['src/main.ts'], `${built}/dist`)
copyFileSync('package.json', `${built}/package.json`)

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
  // Hundreds of processes are started from source: what one has stripped and compiled, the next finds.
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: resolve('node_modules/.cache/holdfast-tests'),
      HOLDFAST_COMMAND: `${built}/dist/main.js`,
    },
  },
)
runner.on('exit', (code) => {
  process.exitCode = code ?? 1
})
