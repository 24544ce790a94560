#!/usr/bin/env node
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { unsupportedNode } from './runtime/node-version.ts'

const SHOWN_FRAMES = 8
/** EX_SOFTWARE of sysexits.h. */
const BUG = 70

// Everything else is imported below, dynamically: an older Node.js fails to load it.
const refusal = unsupportedNode(process.versions.node)
if (refusal) {
  console.error(refusal)
  process.exit(1)
}

/**
 * Opens the compile cache before anything large is imported: compiling the source is most of the startup time, and
 * recovery from a crash waits for a start. The cache contains code that is run, so it is stored where only this user
 * can write.
 */
const caches = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
module.enableCompileCache?.(join(caches, 'holdfast', 'compiled'))
// Node writes the cache at a clean exit only: without this, a killed process would leave nothing for the next start.
setTimeout(() => module.flushCompileCache?.(), 2_000).unref()

try {
  await import('./command.ts')
} catch (fault) {
  // Node.js would print the line that throws: in the package that is eight kilobytes of code without line breaks.
  const [message, ...frames] = (fault instanceof Error ? (fault.stack ?? fault.message) : String(fault)).split('\n')
  console.error([`holdfast: this is a bug in Holdfast: ${message}`, ...frames.slice(0, SHOWN_FRAMES)].join('\n'))
  console.error('Please report it with these lines and `holdfast --version`. Nothing that was accepted is lost.')
  process.exit(BUG)
}
