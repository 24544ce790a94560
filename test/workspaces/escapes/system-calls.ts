/**
 * Calls that the filter must refuse, by number. The list is repeated here, so that a call missing in the filter is
 * found. With invalid parameters, a call that passes the filter fails with a different error.
 */
const NUMBERS: Readonly<Record<string, { x64: number; arm64: number }>> = {
  ptrace: { x64: 101, arm64: 117 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  kcmp: { x64: 312, arm64: 272 },
  unshare: { x64: 272, arm64: 97 },
  setns: { x64: 308, arm64: 268 },
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  pivot_root: { x64: 155, arm64: 41 },
  chroot: { x64: 161, arm64: 51 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  name_to_handle_at: { x64: 303, arm64: 264 },
  open_tree: { x64: 428, arm64: 428 },
  move_mount: { x64: 429, arm64: 429 },
  fsopen: { x64: 430, arm64: 430 },
  fsconfig: { x64: 431, arm64: 431 },
  fsmount: { x64: 432, arm64: 432 },
  fspick: { x64: 433, arm64: 433 },
  mount_setattr: { x64: 442, arm64: 442 },
  pidfd_getfd: { x64: 438, arm64: 438 },
  bpf: { x64: 321, arm64: 280 },
  perf_event_open: { x64: 298, arm64: 241 },
  keyctl: { x64: 250, arm64: 219 },
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  userfaultfd: { x64: 323, arm64: 282 },
  io_uring_setup: { x64: 425, arm64: 425 },
  io_uring_enter: { x64: 426, arm64: 426 },
  io_uring_register: { x64: 427, arm64: 427 },
  fanotify_init: { x64: 300, arm64: 262 },
  kexec_load: { x64: 246, arm64: 104 },
  kexec_file_load: { x64: 320, arm64: 294 },
  init_module: { x64: 175, arm64: 105 },
  finit_module: { x64: 313, arm64: 273 },
  delete_module: { x64: 176, arm64: 106 },
  reboot: { x64: 169, arm64: 142 },
  acct: { x64: 163, arm64: 89 },
  swapon: { x64: 167, arm64: 224 },
  swapoff: { x64: 168, arm64: 225 },
  syslog: { x64: 103, arm64: 116 },
  sethostname: { x64: 170, arm64: 161 },
  setdomainname: { x64: 171, arm64: 162 },
  settimeofday: { x64: 164, arm64: 170 },
  clock_settime: { x64: 227, arm64: 112 },
  clock_adjtime: { x64: 305, arm64: 266 },
  adjtimex: { x64: 159, arm64: 171 },
  quotactl: { x64: 179, arm64: 60 },
}

/** Other calls that probes make. */
const OTHERS: typeof NUMBERS = {
  clone: { x64: 56, arm64: 220 },
  clone3: { x64: 435, arm64: 435 },
  pidfd_open: { x64: 434, arm64: 434 },
}

export const SYSTEM_CALLS = Object.keys(NUMBERS)

const numberOf = (name: string): number => {
  const number = { ...NUMBERS, ...OTHERS }[name]?.[process.arch as 'x64' | 'arm64']
  if (number === undefined) throw new Error(`no number for ${name} on ${process.arch}`)
  return number
}

/** Prints the calls that passed the filter, one per line. EPERM and ENOSYS count as refused. */
export const callAll = (names: readonly string[]): string =>
  `perl -e ${JSON.stringify(
    `my %calls = (${names.map((name) => `${name} => ${numberOf(name)}`).join(', ')});` +
      'for (sort keys %calls) { $! = 0; my $given = syscall($calls{$_}, -1, -1, -1, -1, -1, -1); print qq(GOT $_ $given ), $! + 0, qq(\\n) unless $! == 1 || $! == 38 }',
  ).replaceAll('$', '\\$')}`

/** Prints GOT if the call succeeded. A forked child exits at once. */
export const callWith = (name: string, parameters: readonly number[]): string =>
  `perl -e 'my $given = syscall(${[numberOf(name), ...parameters].join(', ')}); exit if $given == 0 && "${name}" eq "clone"; print "GOT $given\\n" if $given >= 0'`

/** Prints GOT if the call failed with another error than the filter's. */
export const callUnless = (name: string, parameters: readonly number[], errno: number): string =>
  `perl -e 'syscall(${[numberOf(name), ...parameters].join(', ')}); print "GOT ", $! + 0, "\\n" unless $! == ${errno}'`
