import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { realClock } from '../../../src/config/real-clock.ts'
import { WorkspaceError } from '../../../src/ports/workspaces.ts'
import { newWorkspaces } from '../../../src/workspaces/workspaces.ts'
import { newConversationId, QUOTA, runCommand } from '../fixture-workspaces.ts'

/*
 * Run in a mount namespace of its own (`unshare -m`), where overlays make the system folders writable without changing
 * the machine. Prints, for each layout, the paths of the server's files that a command saw.
 */

export type Sighting = { seen: string; refused?: string }

/** An empty folder, which the caller removes. */
const scratch = process.argv[2]!
execFileSync('mount', ['-t', 'tmpfs', 'none', scratch])
for (const system of ['usr', 'etc']) {
  for (const part of ['upper', 'work']) mkdirSync(join(scratch, `${system}-${part}`))
  const layers = `lowerdir=/${system},upperdir=${scratch}/${system}-upper,workdir=${scratch}/${system}-work`
  execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', layers, `/${system}`])
}

/** Where the files are that no command may see, what HOLDFAST_HOME names, and where its workspaces are. */
type Layout = { files: string; home: string; workspaces?: string }

const plain = (home: string): Layout => ({ files: home, home })
const elsewhere = (name: string): string => join(scratch, name)

const LAYOUTS: Record<string, () => Layout> = {
  ...Object.fromEntries(
    [
      '/usr',
      '/usr/local',
      '/usr/local/src',
      '/usr/src/app',
      '/usr/lib',
      '/lib',
      '/usr/share',
      '/etc/ssl/certs',
      '/etc/alternatives',
      '/bin',
      '/sbin',
      '/usr/games',
    ].map((folder) => [folder, () => plain(join(folder, 'holdfast-home'))]),
  ),
  'workspaces elsewhere': () => ({ ...plain('/usr/local/src/second'), workspaces: elsewhere('workspaces-1') }),
  'a link to the home': () => {
    symlinkSync('/usr/local/src/third', elsewhere('link'))
    return { files: '/usr/local/src/third', home: elsewhere('link') }
  },
  'a bind mount of the home': () => {
    for (const folder of [elsewhere('bound'), '/usr/local/src/bound']) mkdirSync(folder, { recursive: true })
    execFileSync('mount', ['--bind', elsewhere('bound'), '/usr/local/src/bound'])
    return plain(elsewhere('bound'))
  },
  'a bind mount of what holds the home': () => {
    for (const folder of [elsewhere('outer/inner'), '/usr/local/src/outer with a space'])
      mkdirSync(folder, { recursive: true })
    execFileSync('mount', ['--bind', elsewhere('outer'), '/usr/local/src/outer with a space'])
    return plain(elsewhere('outer/inner'))
  },
  'a database on another disk': () => {
    mkdirSync('/usr/local/src/disk', { recursive: true })
    mkdirSync(elsewhere('linked'))
    symlinkSync('/usr/local/src/disk/holdfast.db', elsewhere('linked/holdfast.db'))
    return { files: '/usr/local/src/disk', home: elsewhere('linked') }
  },
  'a .env in the working directory': () => {
    mkdirSync('/usr/local/src/project', { recursive: true })
    writeFileSync('/usr/local/src/project/.env', 'secret')
    process.chdir('/usr/local/src/project')
    return { files: '/usr/local/src/project', home: elsewhere('with-project') }
  },
  '/usr/bin alone': () => ({ ...plain('/usr/bin'), workspaces: elsewhere('workspaces-2') }),
  '/usr/lib alone': () => ({ ...plain('/usr/lib'), workspaces: elsewhere('workspaces-3') }),
  '/': () => ({ files: elsewhere('none'), home: '/', workspaces: elsewhere('workspaces-4') }),
}

const sightings: Record<string, Sighting> = {}
for (const [name, lay] of Object.entries(LAYOUTS)) sightings[name] = await look(lay())
console.log(JSON.stringify(sightings))

async function look(layout: Layout): Promise<Sighting> {
  const { files, home, workspaces: folder = join(home, 'workspaces') } = layout
  const canary = `canary-${Object.keys(sightings).length}-`
  for (const one of [files, home]) mkdirSync(one, { recursive: true })
  for (const name of ['api-key', 'secret.key', 'holdfast.db', 'config.yaml']) writeFileSync(join(files, name), canary)
  const workspaces = newWorkspaces({
    clock: realClock,
    report: (fault, where) => console.error(where, fault),
    folder,
    home,
    sandbox: { containment: 'bubblewrap', quota: QUOTA, egress: [] },
  })
  const conversationId = newConversationId()
  try {
    const workspace = await workspaces.open(conversationId)
    return { seen: (await runCommand(workspace, lookAround(layout, canary))).text }
  } catch (fault) {
    if (!(fault instanceof WorkspaceError)) throw fault
    return { seen: '', refused: fault.message }
  } finally {
    await workspaces.remove(conversationId)
    await workspaces.close()
  }
}

function lookAround({ files, home }: Layout, canary: string): string {
  const folders = [files, home].map((path) => `'${path}'`).join(' ')
  return (
    `exec 2>/dev/null; find -H ${folders} -mindepth 1; ` +
    `grep -rl ${canary} ${folders} /usr/local/src /usr/src /usr/games /holdfast/supervisor; touch works && echo works`
  )
}
