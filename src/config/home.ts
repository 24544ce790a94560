import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { defined } from '../core/defined.ts'
import { Problem } from '../core/problem.ts'
import { requirePrivate } from './private-home.ts'

/** The absolute path of the home, the folder with all stored data. It may not exist yet. */
export function homePath(chosen: string | undefined, userFolder: string = homedir()): string {
  if (!chosen) return join(userFolder, '.holdfast')
  // A shell expands `~`, a service file or a .env does not; a folder named "~" is never intended.
  if (chosen === '~' || chosen.startsWith('~/')) return join(userFolder, chosen.slice(1))
  return resolve(chosen)
}

/** Creates the home if it is missing, checks that it is usable and private, and returns its path. */
export function openHome(path: string, warn: (sentence: string) => void): string {
  try {
    makeFolder(path)
    const found = statSync(path)
    if (!found.isDirectory()) throw notAFolder(path)
    requirePrivate(path, found, warn)
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return path
  } catch (error) {
    throw error instanceof Problem ? error : unusableHome(path, error as NodeJS.ErrnoException)
  }
}

/** Not `recursive: true`: where a folder cannot be created (in /proc, say), Node 24 never returns. */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  if (dirname(path) !== path) makeFolder(dirname(path))
  try {
    // Only for the owner: conversations and keys are stored here.
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // Another process that starts at the same time may have created it.
    if (!existsSync(path)) throw error
  }
}

function unusableHome(path: string, error: NodeJS.ErrnoException): Problem {
  if (error.code === 'EEXIST' || error.code === 'ENOTDIR') return notAFolder(path)
  return new Problem(
    'unavailable',
    `The home folder ${path} cannot be used: ${error.message}. ` +
      'Make it writable for this user, or set HOLDFAST_HOME to a folder that is.',
    { path, ...defined({ code: error.code || undefined }) },
  )
}

const notAFolder = (path: string) =>
  new Problem(
    'invalid',
    `The home folder ${path} cannot be created: it, or a part of its path, is a file. ` +
      'Move that file away, or set HOLDFAST_HOME to a folder.',
    { path },
  )
