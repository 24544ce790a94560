import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { WorkspaceError, type WorkspaceQuota } from '../../ports/workspaces.ts'

/** As it looks from inside. */
export const SANDBOX_PATHS = {
  folder: '/workspace',
  spool: '/spool',
  node: '/holdfast/node',
  supervisor: '/holdfast/supervisor',
  egress: '/holdfast/egress',
} as const

type BwrapOptions = {
  files: string
  spool: string
  /** The folder with the supervisor's program, and the program that runs it. */
  supervisor: string
  node: string
  /** The folder with the files of /etc that are made up. */
  etc: string
  /** The folder with the sockets of proxies, where there is a way out. */
  egress?: string
  quota: WorkspaceQuota
  descriptors: { seccomp?: number; info: number; block?: number }
}

const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** What a program needs of the machine's settings; nothing here tells about its people or holds a secret. */
const ETC = [
  'alternatives',
  'ca-certificates',
  'ca-certificates.conf',
  'crypto-policies',
  'fonts',
  'inputrc',
  'java-security',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'magic',
  'magic.mime',
  'mime.types',
  'os-release',
  'pki/ca-trust',
  'pki/tls/certs',
  'pki/tls/cert.pem',
  'protocols',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'terminfo',
  'timezone',
  'xattr.conf',
]

const MADE_UP_ETC = ['passwd', 'group', 'hosts', 'hostname', 'nsswitch.conf'] as const

/** Of /proc: what tells about the machine or changes it. Where the server is root, its sandboxed processes own these files. */
const COVERED_FILES = [
  'kallsyms',
  'kcore',
  'keys',
  'key-users',
  'kmsg',
  'kpagecgroup',
  'kpagecount',
  'kpageflags',
  'iomem',
  'ioports',
  'latency_stats',
  'mtrr',
  'sched_debug',
  'slabinfo',
  'sysrq-trigger',
  'timer_list',
  'timer_stats',
  'vmallocinfo',
  'config.gz',
  'modules',
]
const COVERED_FOLDERS = ['acpi', 'asound', 'driver', 'scsi', 'tty', 'fs', 'pressure']

/** The parameters of bwrap up to the command. */
export function bwrapArguments(walls: BwrapOptions): string[] {
  const { quota, descriptors } = walls
  requireHidden(walls.files)
  // Both live in memory; a quarter each leaves room for the processes.
  const temporary = String(Math.max(1 << 20, Math.floor(quota.memoryBytes / 4)))
  return [
    '--unshare-user',
    '--unshare-ipc',
    '--unshare-pid',
    '--unshare-net',
    '--unshare-uts',
    '--unshare-cgroup-try',
    '--disable-userns',
    '--cap-drop',
    'ALL',
    '--uid',
    '1000',
    '--gid',
    '1000',
    '--hostname',
    'workspace', // A shell as the first process collects what daemons leave; the namespace ends with it.
    '--as-pid-1',
    ...SYSTEM_FOLDERS.flatMap(systemFolder),
    ...ETC.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...MADE_UP_ETC.flatMap((name) => ['--ro-bind', `${walls.etc}/${name}`, `/etc/${name}`]),
    '--proc',
    '/proc',
    '--ro-bind',
    '/proc/sys',
    '/proc/sys',
    ...COVERED_FILES.filter((name) => existsSync(`/proc/${name}`)).flatMap((name) => covered(name)),
    ...COVERED_FOLDERS.filter((name) => existsSync(`/proc/${name}`)).flatMap((name) => coveredFolder(name)),
    '--remount-ro',
    '/proc',
    '--dev',
    '/dev',
    '--perms',
    '1777',
    '--size',
    temporary,
    '--tmpfs',
    '/dev/shm',
    '--remount-ro',
    '/dev',
    '--perms',
    '1777',
    '--size',
    temporary,
    '--tmpfs',
    '/tmp',
    '--symlink',
    '/tmp',
    '/var/tmp',
    '--ro-bind',
    walls.node,
    SANDBOX_PATHS.node,
    '--ro-bind',
    walls.supervisor,
    SANDBOX_PATHS.supervisor,
    ...(walls.egress ? ['--ro-bind', walls.egress, SANDBOX_PATHS.egress] : []),
    '--bind',
    walls.spool,
    SANDBOX_PATHS.spool,
    '--bind',
    walls.files,
    SANDBOX_PATHS.folder,
    '--remount-ro',
    '/',
    '--chdir',
    SANDBOX_PATHS.folder,
    ...(descriptors.seccomp === undefined ? [] : ['--seccomp', String(descriptors.seccomp)]),
    '--info-fd',
    String(descriptors.info),
    ...(descriptors.block === undefined ? [] : ['--block-fd', String(descriptors.block)]),
  ]
}

/** A home within what every sandbox sees would be seen by all of them, with its database and its keys. */
function requireHidden(files: string): void {
  const realPath = realpathSync(files)
  const seen = SYSTEM_FOLDERS.find((folder) => realPath.startsWith(`${folder}/`))
  if (seen === undefined) return
  const advice = 'The operator can move it: set HOLDFAST_HOME or HOLDFAST_WORKSPACES to a folder elsewhere.'
  throw new WorkspaceError('missing-sandbox', `Workspaces cannot lie in ${seen}, which every sandbox sees. ${advice}`)
}

const covered = (name: string) => ['--ro-bind', '/dev/null', `/proc/${name}`]
const coveredFolder = (name: string) => ['--size', '4096', '--tmpfs', `/proc/${name}`, '--remount-ro', `/proc/${name}`]

/** On most systems all but /usr are links into it. */
function systemFolder(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return []
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
}

/** Nobody here is anybody outside. */
export const SYNTHETIC_ETC: Record<(typeof MADE_UP_ETC)[number], string> = {
  passwd: 'agent:x:1000:1000:agent:/workspace:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
  group: 'agent:x:1000:\nnogroup:x:65534:\n',
  hosts: '127.0.0.1 localhost workspace\n::1 localhost\n',
  hostname: 'workspace\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
}
