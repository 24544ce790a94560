import type { EventData, TestsStream } from 'node:test'

const COLUMNS = 100
const MAX_ERROR_OUTPUT = 2_000

export type Count = { passed: number; failed: number; skipped: number; failures: Failure[] }

/** `file`: where the test is written, which is not always the file that was started. */
export type Failure = { name: string; file: string }

/** Prints a mark for each test, then the skipped tests with reasons, the failures and the count. */
export async function report(tests: TestsStream): Promise<Count> {
  const count: Count = { passed: 0, failed: 0, skipped: 0, failures: [] }
  const texts: string[] = []
  const skips: string[] = []
  const errorOutput = new Map<string, string>()
  const started = performance.now()
  let marks = 0
  const mark = (sign: string) => process.stdout.write(++marks % COLUMNS === 0 ? `${sign}\n` : sign)
  for await (const { type, data } of tests) {
    if (type === 'test:stderr')
      errorOutput.set(data.file, `${errorOutput.get(data.file) ?? ''}${data.message}`.slice(-MAX_ERROR_OUTPUT))
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if (data.details.type === 'suite') continue
    if (data.skip !== undefined) {
      count.skipped++
      skips.push(`  skipped: ${data.name}${typeof data.skip === 'string' ? ` (${data.skip})` : ''}`)
      mark('s')
    } else if (type === 'test:pass') {
      count.passed++
      mark('.')
    } else {
      count.failed++
      count.failures.push({ name: data.name, file: data.file ?? data.name })
      texts.push(failureText(data, errorOutput.get(data.file ?? '')))
      mark('X')
    }
  }
  const seconds = Math.round((performance.now() - started) / 1000)
  console.log(`\n\n${[...skips, ...texts].join('\n')}\n${seconds} s`)
  console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
  return count
}

/** A test file that ends without a failed test tells its exit code and what it wrote to stderr. */
type ExitError = Error & { exitCode?: number | string; signal?: string }

function failureText({ name, file, details }: EventData.TestFail, errorOutput = ''): string {
  const { cause } = details.error
  const { exitCode, signal } = details.error as ExitError
  const exit = exitCode === undefined ? '' : ` (exit code ${exitCode}, signal ${signal})\n${errorOutput}`
  const reason = cause instanceof Error ? (cause.stack ?? cause.message) : `${cause ?? details.error.message}${exit}`
  return `  failed: ${name}\n    ${file ?? ''}\n    ${reason.split('\n').slice(0, 12).join('\n    ')}`
}
