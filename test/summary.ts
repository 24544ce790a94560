import type { TestEvent } from 'node:test/reporters'

/** Closes the test command: what failed, what was skipped and why, and the count. */
export default async function* summary(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const count = { passed: 0, failed: 0, skipped: 0 }
  const failures: string[] = []
  const skips: string[] = []
  const started = process.hrtime.bigint()
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if ('details' in data && data.details.type === 'suite') continue
    if (data.skip !== undefined) {
      count.skipped++
      skips.push(`  skipped: ${data.name}${typeof data.skip === 'string' ? ` (${data.skip})` : ''}`)
    } else if (type === 'test:pass') count.passed++
    else {
      count.failed++
      const error = (data as { details: { error: Error & { cause?: unknown } } }).details.error
      const cause =
        error.cause instanceof Error ? (error.cause.stack ?? error.cause.message) : String(error.cause ?? error.message)
      failures.push(
        `  failed: ${data.name}\n    ${data.file ?? ''}\n    ${cause.split('\n').slice(0, 12).join('\n    ')}`,
      )
    }
  }
  const seconds = Number((process.hrtime.bigint() - started) / 1_000_000_000n)
  yield `\n\n${[...skips, ...failures].join('\n')}\n${seconds} s\n`
  yield `${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`
}
