import { GOT, type Outside, type Probe } from './probe.ts'

type Row = Omit<Probe, 'area'>
const CANARY = /canary-\d/

/** Names that must be unreachable, directly and through every path that seems to lead up. */
const key = ({ home }: Outside) => `${home}/secret.key`

const ROWS: Row[] = [
  ...['secret.key', 'holdfast.db', 'config.yaml', '.ssh/id_ed25519'].map(
    (name): Row => ({
      tries: `to read ${name} of the server`,
      success: CANARY,
      open: 'any-user',
      command: ({ home }) => `cat ${home}/${name}`,
    }),
  ),
  {
    tries: "to list the server's home",
    success: /secret\.key/,
    open: 'any-user',
    command: ({ home }) => `ls -a ${home}`,
  },
  {
    tries: "to write into the server's home",
    success: GOT,
    open: 'any-user',
    command: ({ home }) => `echo > ${home}/written && echo GOT`,
  },
  {
    tries: 'to read a file of another workspace',
    success: CANARY,
    open: 'any-user',
    command: ({ neighbor }) => `cat ${neighbor.file}`,
  },
  {
    tries: 'to see which workspaces there are',
    success: /conv-/,
    open: 'any-user',
    command: ({ home }) => `ls ${home}/workspaces`,
  },
  {
    tries: 'to send commands to the supervisor of another workspace',
    success: GOT,
    open: 'any-user',
    command: ({ neighbor, node }) => connecting(node, neighbor.socket),
  },
  {
    tries: 'to send commands to its own supervisor',
    success: GOT,
    open: 'any-user',
    command: ({ ownSocket, node }) => connecting(node, ownSocket),
  },
  {
    tries: 'to read home folders of users',
    success: /\w/,
    open: 'root',
    command: () => 'ls -A /root; ls -A /home/*',
  },
  {
    tries: 'to read the passwords of the machine',
    success: /root:/,
    open: 'root',
    command: () => 'cat /etc/shadow /etc/gshadow',
  },
  {
    tries: 'to find the settings of the machine that hold secrets',
    success: /\w/,
    command: () =>
      'ls -d /etc/ssh /etc/ssl/private /etc/sudoers /etc/pki/tls/private /etc/kubernetes /run/secrets /var/lib /opt /srv /mnt /boot',
  },
  {
    tries: 'to find a Unix socket of the machine, such as Docker’s',
    success: /\//,
    command: () => 'find / \\( -path /usr -o -path /proc \\) -prune -o -type s -print',
  },
  {
    tries: 'to find anything writable that is not its own',
    success: /\//,
    command: () =>
      `find / -maxdepth 3 \\( ${OWN.map((path) => `-path ${path}`).join(' -o ')} \\) -prune -o ! -type l -writable -print | grep -vxE '${DEVICES}'`,
  },
  {
    tries: 'to find a mount that is writable and not its own',
    success: /\//,
    open: 'any-user',
    command: () =>
      `while read -r _ _ _ _ place how _; do case $how in rw*) echo $place;; esac; done < /proc/self/mountinfo | grep -vxE '${[...OWN, DEVICES].join('|')}'`,
  },
  {
    tries: 'to create a file outside its folders',
    success: GOT,
    command: () =>
      'for place in / /usr /usr/local /etc /var /dev /proc /proc/sys /holdfast /holdfast/supervisor; do touch $place/made && echo GOT $place; done',
  },
  {
    tries: 'to change the program that runs the server',
    success: GOT,
    command: ({ node }) => `(: >> ${node}) && echo GOT; touch -c ${node} && echo GOT; true`,
  },
  {
    tries: "to change the mode of the machine's devices",
    success: GOT,
    open: 'root',
    command: () => 'for device in null zero full random urandom; do chmod 666 /dev/$device && echo GOT; done',
  },
  {
    tries: "to change the mode of the machine's devices through descriptors of others",
    success: GOT,
    command: () =>
      'for one in /proc/[0-9]*/fd/*; do case $(readlink $one) in /dev/null) chmod 666 $one && echo GOT $one;; esac; done',
  },
  {
    tries: 'to change the mode of files in /proc, which all of the machine share',
    success: GOT,
    open: 'root',
    command: () => 'for name in version meminfo cpuinfo; do chmod 444 /proc/$name && echo GOT; done',
  },
  {
    tries: 'to change the mode of a program of the machine',
    success: GOT,
    open: 'root',
    command: () => 'chmod 755 /usr/bin/env && echo GOT',
  },
  {
    tries: 'to get up through the root of every process it sees',
    success: CANARY,
    open: 'any-user',
    command: (outside) => `for root in /proc/[0-9]*/root /proc/self/root; do cat $root${key(outside)}; done`,
  },
  {
    tries: 'to get up through the folder of every process it sees',
    success: CANARY,
    open: 'any-user',
    command: (outside) => `for place in /proc/[0-9]*/cwd; do cat $place/${UP}${key(outside)}; done`,
  },
  {
    tries: 'to get up through the open folders of every process it sees',
    success: CANARY,
    open: 'any-user',
    command: (outside) =>
      `exec 8< .; for place in /proc/[0-9]*/fd/*; do [ -d $place/ ] && cat $place/${UP}${key(outside)}; done`,
  },
  {
    tries: 'to find anything open in a process that is not of the workspace',
    success: /\//,
    command: () =>
      "readlink /proc/[0-9]*/fd/* | grep -vE '^(/workspace|/spool|/tmp|/dev/null|/dev/urandom|/proc/|pipe:|socket:|anon_inode:|/holdfast/|/usr/)'",
  },
  {
    tries: 'to get out by a symbolic link',
    success: CANARY,
    open: 'any-user',
    command: (outside) => `ln -sfn / out; cat out${key(outside)}`,
  },
  {
    tries: 'to get out by a hard link',
    success: CANARY,
    open: 'any-user',
    command: (outside) => `rm -f hard; ln ${key(outside)} hard; cat hard; rm -f hard`,
  },
  {
    tries: 'to get out by ..',
    success: CANARY,
    open: 'any-user',
    command: (outside) => `cat ${UP}${key(outside)}`,
  },
  {
    tries: 'to make a device',
    success: GOT,
    open: 'root',
    command: () => 'mknod device c 1 5 && echo GOT; rm -f device',
  },
  {
    tries: 'to open the memory or a disk of the machine',
    success: GOT,
    command: () =>
      'for device in mem kmem port kmsg sda vda xvda nvme0n1 dm-0 loop0 fuse kvm; do head -c1 /dev/$device > /dev/null 2>&1 && echo GOT $device; done',
  },
  {
    tries: 'to mount anything',
    success: GOT,
    command: () =>
      'mkdir -p /tmp/mount; mount -t tmpfs none /tmp/mount && echo GOT; mount --bind / /tmp/mount && echo GOT; mount -o remount,rw,bind /usr && echo GOT; umount /proc/sys && echo GOT; umount -l /etc/passwd && echo GOT',
  },
  {
    tries: 'to change its root',
    success: GOT,
    open: 'root',
    command: () => 'chroot /proc/self/root /bin/true && echo GOT',
  },
]

const UP = '../'.repeat(12)
/** Files that an ordinary user does not own are bound as they are. */
const DEVICES = '/dev/(null|zero|full|random|urandom|tty)'
const OWN = ['/proc', '/workspace', '/spool', '/tmp', '/dev/shm', '/dev/pts']

const connecting = (node: string, path: string): string =>
  `${node} -e 'require("net").connect(process.argv[1]).on("connect", () => { console.log("GOT"); process.exit() }).on("error", () => {})' ${path}`

export const FILE_PROBES: Probe[] = ROWS.map((row) => ({ area: 'files', ...row }))
