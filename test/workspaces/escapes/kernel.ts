import { GOT, type Probe } from './probe.ts'
import { callAll, callUnless, callWith, SYSTEM_CALLS } from './system-calls.ts'

type Row = Omit<Probe, 'area'>

const SIGCHLD = 17
const NEW_NAMESPACES = {
  mounts: 0x20000,
  control: 0x2000000,
  names: 0x4000000,
  messages: 0x8000000,
  users: 0x10000000,
  processes: 0x20000000,
  network: 0x40000000,
}

const ROWS: Row[] = [
  {
    tries: `one of ${SYSTEM_CALLS.length} system calls it has no use for`,
    success: GOT,
    open: 'root',
    command: () => callAll(SYSTEM_CALLS),
  },
  ...Object.entries(NEW_NAMESPACES).map(
    ([name, flag]): Row => ({
      tries: `to fork into a new namespace: ${name}`,
      success: GOT,
      open: 'root',
      command: () => callWith('clone', [flag | SIGCHLD, 0, 0, 0, 0]),
    }),
  ),
  {
    tries: 'clone3, whose flags a filter cannot read',
    success: GOT,
    open: 'any-user',
    command: () => callUnless('clone3', [0, 0], 38),
  },
  {
    tries: 'to become root in a new namespace',
    success: GOT,
    open: 'root',
    command: () => 'unshare -r true && echo GOT; unshare -U true && echo GOT',
  },
  {
    tries: 'to find a process without the filter',
    success: /Seccomp/,
    open: 'any-user',
    command: () => 'grep -H "^Seccomp:" /proc/[0-9]*/status | grep -v "Seccomp:.2$"',
  },
  {
    tries: 'to find a process that has or could have a right',
    success: /Cap/,
    open: 'root',
    command: () => 'grep -H "^Cap" /proc/[0-9]*/status | grep -v "0000000000000000$"',
  },
  {
    tries: 'to find a process that could gain rights by a program',
    success: /NoNewPrivs/,
    open: 'any-user',
    command: () => 'grep -H "^NoNewPrivs:" /proc/[0-9]*/status | grep -v "1$"',
  },
  {
    tries: 'to change its user with a setuid program',
    success: /uid=0/,
    open: 'root',
    command: () => 'su -c id root < /dev/null; sudo -n id',
  },
  {
    tries: 'to find a device that is more than harmless',
    success: /\w/,
    open: 'any-user',
    command: () => `ls /dev | grep -vxE '${HARMLESS.join('|')}'`,
  },
  {
    tries: 'to look at the drivers and devices of the machine',
    success: /\w/,
    open: 'any-user',
    command: () =>
      'for place in /sys /proc/fs /proc/acpi /proc/scsi /proc/driver /proc/pressure; do ls -A $place; done',
  },
  {
    tries: 'to change a setting of the kernel',
    success: GOT,
    open: 'root',
    command: () =>
      'for name in kernel/core_pattern kernel/modprobe kernel/hostname vm/drop_caches net/ipv4/ip_forward; do [ -w /proc/sys/$name ] && echo GOT $name; done; true',
  },
  {
    tries: 'to trigger SysRq',
    success: GOT,
    command: () => '(echo h > /proc/sysrq-trigger) && echo GOT; [ -w /proc/irq/default_smp_affinity ] && echo GOT',
  },
  {
    tries: 'to find the place where the kernel starts programs for a control group',
    success: /release_agent/,
    command: () => 'find / -path /usr -prune -o -name release_agent -print',
  },
  {
    tries: "to read the kernel's symbols and log",
    success: GOT,
    open: 'root',
    command: () =>
      'for name in kallsyms kcore keys; do head -c 1 /proc/$name | grep -aq . && echo GOT $name; done; dmesg > /dev/null 2>&1 && echo GOT',
  },
  {
    tries: 'to read the memory of its supervisor',
    success: GOT,
    open: 'root',
    command: ({ watcher }) =>
      `perl -e 'syscall(${PTRACE}, ${SEIZE}, $ARGV[0] + 0, 0, 0) == 0 and print "GOT\\n"' ${watcher}`,
  },
  {
    tries: 'to write to the memory of its supervisor',
    success: GOT,
    open: 'root',
    command: ({ watcher }) => `(: <> /proc/${watcher}/mem) && echo GOT`,
  },
  {
    tries: 'to debug its supervisor',
    success: GOT,
    command: ({ watcher }) =>
      `kill -USR1 ${watcher}; for turn in 1 2 3 4 5 6 7 8; do (: < /dev/tcp/127.0.0.1/9229) && echo GOT; sleep 0.05; done`,
  },
  {
    tries: 'to insert text into a terminal as typed input',
    success: GOT,
    open: 'any-user',
    command: () => `perl -e 'my $key = "x"; ioctl(STDIN, 0x5412, $key); print "GOT\\n" unless $! == 1' < /dev/null`,
  },
]

const HARMLESS = [
  'core',
  'fd',
  'full',
  'null',
  'ptmx',
  'pts',
  'random',
  'shm',
  'stderr',
  'stdin',
  'stdout',
  'tty',
  'urandom',
  'zero',
]
const PTRACE = process.arch === 'arm64' ? 117 : 101
const SEIZE = 0x4206

export const KERNEL_PROBES: Probe[] = ROWS.map((row) => ({ area: 'kernel', ...row }))
