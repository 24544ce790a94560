import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { WorkspaceError, type WorkspaceQuota } from '../../ports/workspaces.ts'

/** Paths inside the sandbox. */
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
  /** The folder with the supervisor's program, and the Node binary that runs it. */
  supervisor: string
  node: string
  /** The folder with the synthetic files of /etc. */
  etc: string
  /** The folder with the proxies' sockets, where egress is enabled. */
  egress?: string
  quota: WorkspaceQuota
  descriptors: { seccomp?: number; info: number; block?: number }
}

const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']

/** Files of the machine's /etc that programs need; none names its users or holds a secret. */
const HOST_ETC = [
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

const SYNTHETIC_ETC_NAMES = ['passwd', 'group', 'hosts', 'hostname', 'nsswitch.conf'] as const

/** Files of /proc that reveal or change the machine. Where the server is root, sandboxed processes own them. */
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

/** The arguments of bwrap, up to the command. */
export function bwrapArguments(options: BwrapOptions): string[] {
  const { quota, descriptors } = options
  requireOutsideSystemFolders(options.files)
  // Both tmpfs mounts use memory; a quarter of the quota each leaves room for the processes.
  const tmpfsBytes = String(Math.max(1 << 20, Math.floor(quota.memoryBytes / 4)))
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
    'workspace',
    // A shell as pid 1 reaps orphaned daemons; the namespace ends with it.
    '--as-pid-1',
    ...SYSTEM_FOLDERS.flatMap(bindSystemFolder),
    ...HOST_ETC.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...SYNTHETIC_ETC_NAMES.flatMap((name) => ['--ro-bind', `${options.etc}/${name}`, `/etc/${name}`]),
    '--proc',
    '/proc',
    '--ro-bind',
    '/proc/sys',
    '/proc/sys',
    ...COVERED_FILES.filter((name) => existsSync(`/proc/${name}`)).flatMap((name) => coverFile(name)),
    ...COVERED_FOLDERS.filter((name) => existsSync(`/proc/${name}`)).flatMap((name) => coverFolder(name)),
    // File modes in /proc are machine-wide, and where the server is root a command owns these files.
    '--remount-ro',
    '/proc',
    '--dev',
    '/dev',
    '--perms',
    '1777',
    '--size',
    tmpfsBytes,
    '--tmpfs',
    '/dev/shm',
    '--remount-ro',
    '/dev',
    '--perms',
    '1777',
    '--size',
    tmpfsBytes,
    '--tmpfs',
    '/tmp',
    '--symlink',
    '/tmp',
    '/var/tmp',
    '--ro-bind',
    options.node,
    SANDBOX_PATHS.node,
    '--ro-bind',
    options.supervisor,
    SANDBOX_PATHS.supervisor,
    ...(options.egress ? ['--ro-bind', options.egress, SANDBOX_PATHS.egress] : []),
    '--bind',
    options.spool,
    SANDBOX_PATHS.spool,
    '--bind',
    options.files,
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

/** Every sandbox sees the system folders: a home inside one would expose its database and keys to all of them. */
function requireOutsideSystemFolders(files: string): void {
  const realPath = realpathSync(files)
  const exposed = SYSTEM_FOLDERS.find((folder) => realPath.startsWith(`${folder}/`))
  if (exposed === undefined) return
  const advice = 'Set HOLDFAST_HOME or HOLDFAST_WORKSPACES to a folder elsewhere.'
  throw new WorkspaceError(
    'missing-sandbox',
    `Workspaces cannot be stored in ${exposed}, because every sandbox can read that folder. ${advice}`,
  )
}

const coverFile = (name: string) => ['--ro-bind', '/dev/null', `/proc/${name}`]
const coverFolder = (name: string) => ['--size', '4096', '--tmpfs', `/proc/${name}`, '--remount-ro', `/proc/${name}`]

/** On most systems all of them except /usr are links into it. */
function bindSystemFolder(path: string): string[] {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found) return []
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
}

/** Users and groups of the sandbox; none exists on the machine. */
export const SYNTHETIC_ETC: Record<(typeof SYNTHETIC_ETC_NAMES)[number], string> = {
  passwd: 'agent:x:1000:1000:agent:/workspace:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
  group: 'agent:x:1000:\nnogroup:x:65534:\n',
  hosts: '127.0.0.1 localhost workspace\n::1 localhost\n',
  hostname: 'workspace\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
}
