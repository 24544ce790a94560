/** `process.exit` discards output that the parent has not read yet, so the output is flushed first. */
export function flushAndExit(): void {
  process.stdout.end(() => process.exit(0))
}
