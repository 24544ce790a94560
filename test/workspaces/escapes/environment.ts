import { GOT, type Probe } from './probe.ts'

type Row = Omit<Probe, 'area'>
const CANARY = /canary-\d/

const ROWS: Row[] = [
  {
    tries: 'to find the canary in its own environment',
    success: CANARY,
    command: () => 'env; export -p; set',
  },
  {
    tries: 'to find the canary in the environment of any process',
    success: CANARY,
    open: 'any-user',
    command: () => 'cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ | tr "\\0" "\\n" | grep -a canary',
  },
  {
    tries: 'to find the canary in the parameters of any process',
    success: CANARY,
    open: 'any-user',
    command: () => 'cat /proc/[0-9]*/cmdline /proc/[0-9]*/comm | tr "\\0" "\\n" | grep -a canary | grep -v grep',
  },
  {
    tries: 'to find anything that is called a secret',
    success: /./,
    command: () =>
      'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep -aE "(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|DATABASE)[A-Z_]*="',
  },
  {
    tries: "to find names of the server's own in the first process",
    success: /./,
    command: ({ home }) => `tr "\\0" "\\n" < /proc/1/environ | grep -aE "HOLDFAST_|${home}"`,
  },
  {
    // Mounts are visible by name only.
    tries: 'to reach any path that is named among the mounts',
    success: GOT,
    open: 'any-user',
    command: ({ home }) =>
      `while read -r _ _ _ root place _; do case $root in ${home}*|/work*|/root*|/home*) [ -e "$root" ] && echo GOT $root;; esac; done < /proc/self/mountinfo; [ -e ${home} ] && echo GOT`,
  },
]

export const ENVIRONMENT_PROBES: Probe[] = ROWS.map((row) => ({ area: 'environment', ...row }))
