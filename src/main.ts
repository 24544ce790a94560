#!/usr/bin/env node
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { unsupportedNode } from './runtime/node-version.ts'

// Everything else is imported below, dynamically: an older Node.js fails to load it.
const refusal = unsupportedNode(process.versions.node)
if (refusal) {
  console.error(refusal)
  process.exit(1)
}

/**
 * The command, found compiled: reading and compiling our own text is most of a start, and a start is what a crash waits
 * for. So this file, the one that is compiled each time, imports nothing large before the cache is open. It lies where
 * only this user writes: what is in it is run.
 */
const caches = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
module.enableCompileCache?.(join(caches, 'holdfast', 'compiled'))
// Otherwise written at a clean end only, and a process that was killed would leave its successor nothing.
setTimeout(() => module.flushCompileCache?.(), 2_000).unref()

await import('./command.ts')
