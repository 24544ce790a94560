import { GOT, type Probe } from './probe.ts'
import { callWith } from './system-calls.ts'

type Row = Omit<Probe, 'area'>

const ROWS: Row[] = [
  {
    tries: 'to see a process of the machine',
    success: GOT,
    open: 'anybody',
    command: ({ bystander }) => `[ -d /proc/${bystander} ] && echo GOT`,
  },
  {
    tries: 'to see more processes than its own',
    success: GOT,
    command: () =>
      'for one in /proc/[0-9]*/cmdline; do grep -aqE "(^|/)(systemd|init|sshd|dockerd|tini)" $one && echo GOT; done',
  },
  {
    tries: 'to signal a process of the machine',
    success: GOT,
    open: 'anybody',
    command: ({ bystander }) => `kill -0 ${bystander} && echo GOT`,
  },
  {
    tries: 'to get hold of a process of the machine',
    success: GOT,
    open: 'anybody',
    command: ({ bystander }) => callWith('pidfd_open', [bystander, 0]),
  },
  {
    tries: 'to come before others',
    success: GOT,
    open: 'root',
    command: () => 'renice -n -1 -p $$ && echo GOT',
  },
  {
    tries: 'to come before all others',
    success: GOT,
    open: 'root',
    command: () => 'chrt -f 1 true && echo GOT; chrt -r 1 true && echo GOT',
  },
  {
    tries: 'to have the disk before others',
    success: GOT,
    open: 'root',
    command: () => 'ionice -c 1 -n 0 true && echo GOT',
  },
  {
    tries: 'to have others ended before itself when memory is short',
    success: GOT,
    command: () => 'echo -500 > /proc/self/oom_score_adj && echo GOT; echo 0 > /proc/self/oom_score_adj',
  },
  {
    tries: 'to lift the limit of its files',
    success: GOT,
    open: 'anybody',
    command: () => 'ulimit -f unlimited && echo GOT',
  },
  {
    tries: 'to narrow the limits of the process that watches over it',
    success: GOT,
    open: 'root',
    command: ({ watcher }) => `prlimit --pid ${watcher} --nofile=1000:1000 && echo GOT`,
  },
  {
    tries: 'to leave its memory on the disk when it falls',
    success: GOT,
    command: () => 'ulimit -c 1 && echo GOT',
  },
]

export const PROCESS_PROBES: Probe[] = ROWS.map((row) => ({ area: 'processes', ...row }))
