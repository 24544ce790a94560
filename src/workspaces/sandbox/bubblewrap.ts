import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import type { WorkspaceQuota } from '../../ports/workspaces.ts'
import type { ShownFolder } from './covered-folders.ts'

/** Paths inside the sandbox. */
export const SANDBOX_PATHS = {
  folder: '/workspace',
  spool: '/spool',
  node: '/holdfast/node',
  supervisor: '/holdfast/supervisor',
  egress: '/holdfast/egress',
  packages: '/holdfast/packages',
  programs: '/programs',
  memoryUse: '/holdfast/memory-use',
  memoryFull: '/holdfast/memory-full',
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
  /** The folder with the Python packages of tools. */
  packages?: string
  /** The folder with the programs that the operator installed for MCP servers. */
  programs?: string
  /** Files of the kernel about the memory of the sandbox. */
  memory?: { use: string; full: string }
  /** Folders inside that would show files of the server. */
  covered: readonly string[]
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
    ...COVERED_FILES.map((name) => `/proc/${name}`)
      .filter(isPresent)
      .flatMap(coverFile),
    ...COVERED_FOLDERS.map((name) => `/proc/${name}`)
      .filter(isPresent)
      .flatMap(coverFolder),
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
    ...(options.packages ? ['--ro-bind', options.packages, SANDBOX_PATHS.packages] : []),
    ...(options.programs ? ['--ro-bind', options.programs, SANDBOX_PATHS.programs] : []),
    ...(options.memory ? bindMemoryFiles(options.memory) : []),
    ...options.covered.flatMap((path) => coverFolder(path)),
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

/** The folders of the machine that a sandbox shows besides its workspace, under their real paths. */
export function shownFolders(supervisor: string): ShownFolder[] {
  const system = SYSTEM_FOLDERS.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory())
  const etc = HOST_ETC.map((name) => `/etc/${name}`).filter((path) => existsSync(path))
  return [
    ...[...system, ...etc].map((path) => ({ source: realpathSync(path), destination: path })),
    { source: realpathSync(supervisor), destination: SANDBOX_PATHS.supervisor },
  ]
}

const bindMemoryFiles = ({ use, full }: { use: string; full: string }) => [
  ...['--ro-bind', use, SANDBOX_PATHS.memoryUse],
  ...['--ro-bind', full, SANDBOX_PATHS.memoryFull],
]

const isPresent = (path: string): boolean => existsSync(path)
const coverFile = (path: string) => ['--ro-bind', '/dev/null', path]
const coverFolder = (path: string) => ['--size', '4096', '--tmpfs', path, '--remount-ro', path]

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
