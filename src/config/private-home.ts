import { chmodSync, lstatSync, readdirSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { fateOf } from '../core/home-files.ts'
import { Problem } from '../core/problem.ts'
import { GROUP_AND_OTHERS } from '../disk/private-file.ts'

const STICKY = 0o1000
/** The file system's own, in a volume that is otherwise empty. */
const LOST_AND_FOUND = 'lost+found'

/**
 * Conversations and keys are for the user of this process alone. Takes the rights of others from an existing home and
 * reports it; a home of another user, or one that shares its folder with other things, is refused.
 */
export function requirePrivate(home: string, found: Stats, warn: (sentence: string) => void): void {
  const user = process.geteuid?.()
  if (user === undefined) return
  if (found.uid !== user) throw foreign(home, found.uid, user)
  if ((found.mode & GROUP_AND_OTHERS) !== 0) mendFolder(home, found, warn)
  for (const name of readdirSync(home)) mendEntry(home, name, user)
}

function mendFolder(home: string, { mode }: Stats, warn: (sentence: string) => void): void {
  const former = (mode & 0o7777).toString(8)
  const names = readdirSync(home).filter((name) => name !== LOST_AND_FOUND)
  const isHome = names.length === 0 || names.some((name) => fateOf(name) !== undefined)
  // Closing a folder such as /tmp or /usr would lock every other user out.
  if ((mode & STICKY) !== 0 || !isHome) throw shared(home, former)
  try {
    chmodSync(home, mode & 0o700)
  } catch (error) {
    throw notMended(home, former, error as Error)
  }
  if (names.length > 0)
    warn(
      `other users of this machine could enter the home ${home} (mode ${former}); now only this user can. If others may ` +
        'have read it, replace its keys.',
    )
}

/** `secret.key` has a check of its own, which refuses: a key that others read must be replaced. */
function mendEntry(home: string, name: string, user: number): void {
  if (fateOf(name) === undefined || name === 'secret.key') return
  const path = join(home, name)
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found || found.isSymbolicLink() || found.uid !== user || (found.mode & GROUP_AND_OTHERS) === 0) return
  try {
    chmodSync(path, found.mode & 0o700)
  } catch {
    // Of a mounted, read-only file for example. The folder keeps others out; `holdfast doctor` names the file.
  }
}

const foreign = (path: string, owner: number, user: number) =>
  new Problem(
    'invalid',
    `The home folder ${path} belongs to the user ${owner}, and this process runs as the user ${user}: that user could ` +
      `read every key and conversation. Start Holdfast as that user, run \`chown -R ${user} ${path}\`, or set ` +
      'HOLDFAST_HOME to a folder in it, which Holdfast creates.',
    { path },
  )

const shared = (path: string, mode: string) =>
  new Problem(
    'invalid',
    `The home folder ${path} holds other things and is open to other users (mode ${mode}). Set HOLDFAST_HOME to a ` +
      `folder of its own, for example ${join(path, 'holdfast')}, or run \`chmod 700 ${path}\` if nobody else needs it.`,
    { path },
  )

const notMended = (path: string, mode: string, { message }: Error) =>
  new Problem(
    'unavailable',
    `The home folder ${path} is open to other users (mode ${mode}), and that cannot be changed: ${message}. Set ` +
      `HOLDFAST_HOME to a folder in it, for example ${join(path, 'holdfast')}, which Holdfast creates.`,
    { path },
  )
