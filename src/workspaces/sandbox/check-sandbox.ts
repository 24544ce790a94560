import { spawn } from 'node:child_process'
import { type Containment, type SandboxCheck, WorkspaceError } from '../../ports/workspaces.ts'
import { findBubblewrap, toSandboxError } from './sandbox-errors.ts'

const PATIENCE_MS = 5_000

/** What a sandbox needs most of the machine, without any of its folders. */
const TRIAL = [
  '--unshare-user',
  '--unshare-ipc',
  '--unshare-pid',
  '--unshare-net',
  '--unshare-uts',
  '--disable-userns',
  '--cap-drop',
  'ALL',
  '--uid',
  '1000',
  '--gid',
  '1000',
  '--ro-bind',
  '/',
  '/',
  '--proc',
  '/proc',
  '--dev',
  '/dev',
  '--',
  '/bin/sh',
  '-c',
  ':',
]

/** Tries it: bubblewrap may be there and not be let do what it is for. */
export async function checkSandbox(containment: Containment): Promise<SandboxCheck> {
  if (containment === 'local') return { containment }
  try {
    const words = await trial(findBubblewrap(process.env.PATH))
    return words === undefined ? { containment } : { containment, fault: toSandboxError(words).message }
  } catch (fault) {
    if (fault instanceof WorkspaceError) return { containment, fault: fault.message }
    throw fault
  }
}

/** What it said when it did not work; undefined when it did. */
function trial(program: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, TRIAL, {
      cwd: '/',
      env: {},
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: PATIENCE_MS,
    })
    let words = ''
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      if (words.length < 4_096) words += piece
    })
    child.once('error', (fault) => resolve(fault.message))
    child.once('close', (code) => resolve(code === 0 ? undefined : words || `it ended with ${code ?? 'a signal'}`))
  })
}
