/** A harmful command, and the answer the model gets. */
export type BadCommand = {
  does: string
  command: string
  /** Matches the answer of `shell`. */
  says: RegExp
  /** After this time the command moves to the background, and is killed there. */
  seconds?: number
}

const node = (code: string) => `/holdfast/node -e '${code}'`
const over = (limit: string) => new RegExp(`over the ${limit} limit of this workspace`)

export const QUICK: readonly BadCommand[] = [
  {
    does: 'reads the environment of the server',
    says: /exit code [1-9]/,
    command: 'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep -a -E "API_KEY|HOLDFAST_HOME|CANARY_"',
  },
  {
    does: 'leaves its folder through ..',
    says: /No such file or directory[\s\S]*exit code [1-9]/,
    command: 'ln -s / way; cat way/root/.bashrc ../../../../root/.bashrc',
  },
  {
    does: 'prints forever',
    says: /y\ny\n[\s\S]*moved to the background/,
    seconds: 1,
    command: 'yes',
  },
]

export const SLOW: readonly BadCommand[] = [
  {
    does: 'forks endlessly',
    says: over('processes'),
    // Written plainly, it would need approval.
    command: 'echo "bomb() { bomb | bomb & }; bomb" > bomb.sh; source ./bomb.sh; sleep 1000',
  },
  {
    does: 'forks endlessly and detaches every child',
    says: over('processes'),
    command: 'while :; do setsid env -i sleep 1000 > /dev/null 2>&1 & done',
  },
  {
    does: 'creates threads endlessly',
    says: over('(processes|memory)'),
    command: node(
      'const { Worker } = require("worker_threads"); const more = () => { new Worker("setInterval(() => {}, 1e6)", { eval: true }); setImmediate(more) }; more()',
    ),
  },
  {
    does: 'allocates memory endlessly',
    says: over('memory'),
    command: node('const all = []; for (;;) all.push(Buffer.alloc(1e7, 1))'),
  },
  {
    does: 'allocates memory in many processes',
    says: over('memory'),
    command: `for one in 1 2 3 4 5 6; do ${node('const all = Buffer.alloc(2e8, 1); setInterval(() => all, 1e6)')} & done; wait`,
  },
  {
    does: 'fills the disk with one file',
    says: /File size limit|File too large|over the disk limit/,
    command: 'cat /dev/zero > large',
  },
  {
    does: 'creates an endless sparse file',
    says: /EFBIG|over the disk limit/,
    command: node('require("fs").ftruncateSync(require("fs").openSync("empty", "w"), 1e14)'),
  },
  {
    does: 'fills the disk with many files',
    says: over('disk'),
    command: node(
      'const fs = require("fs"); const piece = Buffer.alloc(20000); fs.mkdirSync("many", { recursive: true }); for (let i = 0; ; i++) fs.writeFileSync("many/" + i, piece)',
    ),
  },
  {
    does: 'fills the tmpfs',
    says: /No space left|over the memory limit/,
    command:
      'cat /dev/zero > /tmp/large; ls -s /tmp/large; rm -f /tmp/large; cat /dev/zero > /dev/shm/large; rm -f /dev/shm/large; false',
  },
  {
    does: 'ignores every signal it can',
    says: /moved to the background/,
    seconds: 1,
    command: 'trap "" TERM INT HUP QUIT USR1 USR2 PIPE ALRM TSTP; while :; do :; done',
  },
  {
    does: 'spins on every processor',
    says: /moved to the background/,
    seconds: 2,
    command: 'for one in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; wait',
  },
  {
    does: 'prints faster than its output is read',
    says: /moved to the background/,
    seconds: 2,
    command: 'for one in 1 2 3 4; do cat /dev/zero & done; wait',
  },
]
