import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { WorkspaceError } from '../../ports/workspaces.ts'

const OR_LOCAL =
  'Or set HOLDFAST_SANDBOX=local to run commands without a sandbox, as the user the server runs as; each then needs approval.'

/** What belongs to a workspace is found in /proc, with and without a sandbox. */
export function requireLinux(platform: string = process.platform): void {
  if (platform !== 'linux')
    throw new WorkspaceError(
      'missing-sandbox',
      `Commands and files need a server that runs on Linux; this one runs on ${platform}.`,
    )
}

/** The program that makes sandboxes, on the server's own search path. */
export function findBubblewrap(searchPath: string | undefined): string {
  for (const folder of (searchPath ?? '').split(delimiter)) {
    if (!folder.startsWith('/')) continue
    try {
      accessSync(join(folder, 'bwrap'), constants.X_OK)
      return join(folder, 'bwrap')
    } catch {
      // Not in this folder; perhaps in the next.
    }
  }
  throw new WorkspaceError(
    'missing-sandbox',
    'Commands and files need a sandbox, and bubblewrap (bwrap) is not installed on the server. The operator can install ' +
      `it: apt-get install bubblewrap, dnf install bubblewrap or apk add bubblewrap. ${OR_LOCAL}`,
  )
}

/** Why bubblewrap says no, and what helps. */
const REASONS: readonly { sign: RegExp; advice: string }[] = [
  {
    sign: /No permissions to create (a )?new namespace|Creating new namespace failed|setting up uid map|user namespaces? .*(disabled|not)|Operation not permitted/i,
    advice:
      'This machine does not let it make user namespaces. The operator can allow them: sysctl -w kernel.unprivileged_userns_clone=1, ' +
      'sysctl -w user.max_user_namespaces=15000, on Ubuntu sysctl -w kernel.apparmor_restrict_unprivileged_userns=0; ' +
      'in a container, start that with --security-opt seccomp=unconfined or as a user namespace of its own.',
  },
  {
    sign: /Unknown option|unrecognized option/i,
    advice: 'It is too old: version 0.8 or later is needed.',
  },
]

export function toSandboxError(words: string): WorkspaceError {
  const said = words.trim().slice(0, 500) || 'it said nothing'
  const reason = REASONS.find(({ sign }) => sign.test(said))
  if (!reason) return new WorkspaceError('unavailable', `The workspace could not be started: ${said}`)
  return new WorkspaceError(
    'missing-sandbox',
    `The sandbox could not be started (${said}). ${reason.advice} ${OR_LOCAL}`,
  )
}
