import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { WorkspaceError } from '../../ports/workspaces.ts'

const LOCAL_ADVICE =
  'Or set HOLDFAST_SANDBOX=local to run commands without a sandbox, as the user of the server; each command then needs approval.'

/** The supervisor finds processes in /proc, with and without a sandbox. */
export function requireLinux(platform: string = process.platform): void {
  if (platform !== 'linux')
    throw new WorkspaceError(
      'missing-sandbox',
      `Commands and files need a server on Linux; this server runs on ${platform}.`,
    )
}

/** The path of bwrap, from the server's PATH. */
export function findBubblewrap(searchPath: string | undefined): string {
  for (const folder of (searchPath ?? '').split(delimiter)) {
    if (!folder.startsWith('/')) continue
    try {
      accessSync(join(folder, 'bwrap'), constants.X_OK)
      return join(folder, 'bwrap')
    } catch {
      // Not in this folder.
    }
  }
  throw new WorkspaceError(
    'missing-sandbox',
    'Commands and files need a sandbox, and bubblewrap (bwrap) is not installed on the server. Install it with ' +
      `apt-get install bubblewrap, dnf install bubblewrap or apk add bubblewrap. ${LOCAL_ADVICE}`,
  )
}

/** Known errors of bubblewrap, with their remedies. */
const KNOWN_FAILURES: readonly { sign: RegExp; advice: string }[] = [
  {
    sign: /No permissions to create (a )?new namespace|Creating new namespace failed|setting up uid map|user namespaces? .*(disabled|not)|Operation not permitted/i,
    advice:
      'This machine does not allow bubblewrap to create user namespaces. Allow them with sysctl -w kernel.unprivileged_userns_clone=1 ' +
      'and sysctl -w user.max_user_namespaces=15000, on Ubuntu with sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; ' +
      'start a container with --security-opt seccomp=unconfined or in its own user namespace.',
  },
  {
    sign: /Unknown option|unrecognized option/i,
    advice: 'This version of bubblewrap is too old: install version 0.8 or later.',
  },
]

export function toSandboxError(stderr: string): WorkspaceError {
  const output = stderr.trim().slice(0, 500) || 'no error output'
  const known = KNOWN_FAILURES.find(({ sign }) => sign.test(output))
  if (!known) return new WorkspaceError('unavailable', `The workspace could not be started: ${output}`)
  return new WorkspaceError(
    'missing-sandbox',
    `The sandbox could not be started (${output}). ${known.advice} ${LOCAL_ADVICE}`,
  )
}
