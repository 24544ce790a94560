import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fateOf } from '../../core/home-files.ts'
import { WorkspaceError } from '../../ports/workspaces.ts'

/** A folder of the machine that the sandbox shows, and where it shows it. */
export type ShownFolder = { source: string; destination: string }

/** A mount of the machine: `root` is the folder of the file system that is visible at `point`. */
type Mount = { device: string; root: string; point: string }

type CoverOptions = {
  /** The home of the server. */
  home: string
  /** Other folders with files of the server: the application, settings beside it. */
  others: readonly string[]
  shown: readonly ShownFolder[]
  mounts: readonly Mount[]
}

/**
 * Folders inside the sandbox that must be covered, because they show files of the server: a command has the user id of
 * the server, so file modes protect nothing. Folders and not files: a file that is replaced loses what covers it. Throws
 * if covering would also hide what every sandbox needs.
 */
export function foldersToCover({ home, others, shown, mounts }: CoverOptions): string[] {
  const needed = neededFolders()
  const covers = new Set<string>()
  for (const folder of [home, ...others]) {
    for (const place of placesOf(folder, mounts)) {
      const isHome = folder === home
      if (isHome && shown.some(({ source }) => isInside(source, place))) throw uncoverable(place, isHome)
      for (const { source, destination } of shown) {
        if (!isInside(place, source)) continue
        if (needed.some((one) => isInside(one, place))) throw uncoverable(place, isHome)
        covers.add(join(destination, relative(source, place)))
      }
    }
  }
  // What is inside a covered folder is not there any more.
  return [...covers].filter((one) => ![...covers].some((other) => other !== one && isInside(one, other))).sort()
}

/** Every path at which a folder, or a part of it, is visible on the machine: a bind mount shows it a second time. */
export function placesOf(folder: string, mounts: readonly Mount[]): string[] {
  const holding = mounts.filter(({ point }) => isInside(folder, point))
  const deepest = Math.max(0, ...holding.map(({ point }) => point.length))
  // Of two mounts at one point, the later is on top.
  const mount = holding.findLast(({ point }) => point.length === deepest)
  if (!mount) return [folder]
  const inner = join(mount.root, relative(mount.point, folder))
  const places = mounts.flatMap(({ device, root, point }) => {
    if (device !== mount.device) return []
    if (isInside(inner, root)) return [join(point, relative(root, inner))]
    return isInside(root, inner) ? [point] : []
  })
  return [...new Set([folder, ...places])]
}

/** The mounts of this process, from the text of /proc/self/mountinfo. */
export function parseMounts(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const [, , device, root, point] = line.split(' ')
    return device && root && point ? [{ device, root: unescaped(root), point: unescaped(point) }] : []
  })
}

export const readMounts = (): Mount[] => parseMounts(readFileSync('/proc/self/mountinfo', 'utf8'))

/** White space in a path is written in octal. */
const unescaped = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

/**
 * Where a home keeps its files: the folder, and the folders to which links in it lead, for example that of a database on
 * another disk.
 */
export function foldersOfHome(home: string): { home: string; linked: string[] } {
  const real = realpathSync(home)
  const entries = readdirSync(real, { withFileTypes: true })
  const links = entries.filter((one) => one.isSymbolicLink() && fateOf(one.name) !== undefined)
  return { home: real, linked: links.flatMap(({ name }) => targetFolder(join(real, name))) }
}

function targetFolder(link: string): string[] {
  try {
    const target = realpathSync(link)
    return [statSync(target).isDirectory() ? target : dirname(target)]
  } catch {
    // It leads nowhere.
    return []
  }
}

/**
 * The folder of this program: with its dependencies, if it is one itself. And the working directory if it has a .env,
 * which a service manager or Node.js may have read the secrets from.
 */
export function foldersOfApplication(program: string, workingDirectory: string): string[] {
  const own = nearestManifest(dirname(program))
  const modules = own?.lastIndexOf(`${sep}node_modules${sep}`) ?? -1
  const dependent = modules > 0 ? own!.slice(0, modules) : undefined
  return [
    ...(own === undefined ? [] : [own]),
    ...(dependent !== undefined && existsSync(join(dependent, 'package.json')) ? [dependent] : []),
    ...(existsSync(join(workingDirectory, '.env')) ? [workingDirectory] : []),
  ].map((folder) => realpathSync(folder))
}

function nearestManifest(folder: string): string | undefined {
  for (let one = folder; ; one = dirname(one)) {
    if (existsSync(join(one, 'package.json'))) return one
    if (one === dirname(one)) return undefined
  }
}

/** Without these no program runs, or none is found. */
const NEEDED = [
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/usr/bin',
  '/usr/sbin',
  '/usr/lib',
  '/usr/lib32',
  '/usr/lib64',
  '/usr/libexec',
  '/usr/share',
  '/usr/local/bin',
  '/usr/local/lib',
  '/bin/sh',
  '/bin/bash',
]

const neededFolders = (): string[] =>
  [...NEEDED, ...loaderPaths()].flatMap((path) => (existsSync(path) ? [realpathSync(path)] : []))

/** The loader, and the libraries of this processor. By hand: older versions of Node.js warn about `globSync`. */
const loaderPaths = (): string[] =>
  ['/', '/usr'].flatMap((top) =>
    readdirSync(top)
      .filter((name) => name.startsWith('lib') && statSync(join(top, name)).isDirectory())
      .flatMap((name) => readdirSync(join(top, name)).map((entry) => join(top, name, entry)))
      .filter((path) => path.includes('-linux-') || path.split(sep).at(-1)!.startsWith('ld-')),
  )

export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)

function uncoverable(place: string, isHome: boolean): WorkspaceError {
  const what = isHome ? 'The home' : 'A folder with the program or its settings'
  const advice = isHome
    ? 'Move the home to a folder of its own, for example /var/lib/holdfast, and set HOLDFAST_HOME to it.'
    : 'Move the program and its .env to a folder of their own, for example /opt/holdfast.'
  return new WorkspaceError(
    'missing-sandbox',
    `${what} is visible at ${place}, and programs in a sandbox need that folder, so that it cannot be hidden from ` +
      `them. ${advice}`,
  )
}
