/** What a command can do to the files its supervisor keeps, or to the supervisor itself. The next one must work all the same. */
export type Sabotage = { does: string; command: string }

const AGAINST_FILES = ['terminal.bash', 'terminal.json', 'terminal.json.new', 'pruned.jsonl'].join(' ')

export const SABOTAGE: readonly Sabotage[] = [
  { does: 'puts folders where files were', command: `cd /spool; rm -rf ${AGAINST_FILES}; mkdir ${AGAINST_FILES}` },
  { does: 'takes all rights away', command: 'chmod 000 /spool/processes /spool' },
  { does: 'removes everything', command: 'rm -rf /spool/* /spool/.*' },
  {
    does: 'puts a file where the folder of processes was',
    command: 'rm -rf /spool/processes; echo > /spool/processes',
  },
  { does: 'puts a link where that folder was', command: 'rm -rf /spool/processes; ln -s /dev/full /spool/processes' },
  { does: 'puts a file where the folder of pipes was', command: 'rm -rf /spool/pipes; echo > /spool/pipes' },
  { does: 'writes nonsense without end', command: 'head -c 200000000 /dev/zero > /spool/terminal.json' },
  {
    does: 'puts pipes where files were',
    command: `cd /spool; rm -rf ${AGAINST_FILES}; mkfifo ${AGAINST_FILES}; mkdir -p processes/process-1; mkfifo processes/process-1/beginning.json`,
  },
  { does: 'locks its own folder', command: 'chmod 000 /workspace' },
  { does: 'removes the folder it stands in', command: 'mkdir gone; cd gone; rmdir ../gone' },
]

/** Those that make the supervisor wait: it takes its time until it is found out. */
export const SLOW_SABOTAGE: readonly Sabotage[] = [
  { does: 'stops its supervisor', command: 'kill -STOP $PPID; sleep 1000' },
]
