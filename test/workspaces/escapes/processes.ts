import { GOT, type Probe } from './probe.ts'
import { callWith } from './system-calls.ts'

type Row = Omit<Probe, 'area'>

const ROWS: Row[] = [
  {
    tries: 'to see a process of the machine',
    success: GOT,
    open: 'any-user',
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
    open: 'any-user',
    command: ({ bystander }) => `kill -0 ${bystander} && echo GOT`,
  },
  {
    tries: 'to get hold of a process of the machine',
    success: GOT,
    open: 'any-user',
    command: ({ bystander }) => callWith('pidfd_open', [bystander, 0]),
  },
  {
    tries: 'to raise its priority',
    success: GOT,
    open: 'root',
    command: () => 'renice -n -1 -p $$ && echo GOT',
  },
  {
    tries: 'to get real-time priority',
    success: GOT,
    open: 'root',
    command: () => 'chrt -f 1 true && echo GOT; chrt -r 1 true && echo GOT',
  },
  {
    tries: 'to raise its disk priority',
    success: GOT,
    open: 'root',
    command: () => 'ionice -c 1 -n 0 true && echo GOT',
  },
  {
    tries: 'to lower its own score for the OOM killer',
    success: GOT,
    command: () => 'echo -500 > /proc/self/oom_score_adj && echo GOT; echo 0 > /proc/self/oom_score_adj',
  },
  {
    tries: 'to raise its file size limit',
    success: GOT,
    open: 'any-user',
    command: () => 'ulimit -f unlimited && echo GOT',
  },
  {
    tries: 'to lower the limits of its supervisor',
    success: GOT,
    open: 'root',
    command: ({ watcher }) => `prlimit --pid ${watcher} --nofile=1000:1000 && echo GOT`,
  },
  {
    tries: 'to write a core dump',
    success: GOT,
    command: () => 'ulimit -c 1 && echo GOT',
  },
]

export const PROCESS_PROBES: Probe[] = ROWS.map((row) => ({ area: 'processes', ...row }))
