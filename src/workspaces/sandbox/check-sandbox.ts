import { spawn } from 'node:child_process'
import { type Containment, type SandboxCheck, WorkspaceError } from '../../ports/workspaces.ts'
import { kernelLimits } from '../cgroup.ts'
import { findBubblewrap, toSandboxError } from './sandbox-errors.ts'

const TRIAL_TIMEOUT_MS = 5_000

/** The kernel features a sandbox needs, without the workspace's folders. */
const TRIAL_ARGUMENTS = [
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

/**
 * Starts a trial sandbox: bubblewrap may be installed and still not be permitted to create namespaces. `checkLayout`
 * throws if the files of the server cannot be hidden.
 */
export async function checkSandbox(
  containment: Containment,
  checkLayout: () => Promise<unknown>,
): Promise<SandboxCheck> {
  if (containment === 'local') return { containment }
  try {
    await checkLayout()
    const stderr = await runTrial(findBubblewrap(process.env.PATH))
    return stderr === undefined
      ? { containment, kernel: await kernelLimits() }
      : { containment, fault: toSandboxError(stderr).message }
  } catch (fault) {
    if (fault instanceof WorkspaceError) return { containment, fault: fault.message }
    throw fault
  }
}

/** The error output of a failed trial; undefined if it worked. */
function runTrial(program: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(program, TRIAL_ARGUMENTS, {
      cwd: '/',
      env: {},
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: TRIAL_TIMEOUT_MS,
    })
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      if (stderr.length < 4_096) stderr += piece
    })
    child.once('error', (fault) => resolve(fault.message))
    child.once('close', (code) =>
      resolve(code === 0 ? undefined : stderr || `bwrap exited with ${code === null ? 'a signal' : `code ${code}`}`),
    )
  })
}
