/** Attacks of a command on its supervisor or the supervisor's files. The next command must still work. */
export type Sabotage = { does: string; command: string }

const AGAINST_FILES = ['terminal.bash', 'terminal.json', 'terminal.json.new', 'pruned.jsonl'].join(' ')

export const SABOTAGE: readonly Sabotage[] = [
  { does: 'puts folders where files were', command: `cd /spool; rm -rf ${AGAINST_FILES}; mkdir ${AGAINST_FILES}` },
  { does: 'removes all permissions', command: 'chmod 000 /spool/processes /spool' },
  { does: 'removes everything', command: 'rm -rf /spool/* /spool/.*' },
  {
    does: 'puts a file where the folder of processes was',
    command: 'rm -rf /spool/processes; echo > /spool/processes',
  },
  { does: 'puts a link where that folder was', command: 'rm -rf /spool/processes; ln -s /dev/full /spool/processes' },
  { does: 'puts a file where the folder of pipes was', command: 'rm -rf /spool/pipes; echo > /spool/pipes' },
  { does: 'writes a huge invalid file', command: 'head -c 200000000 /dev/zero > /spool/terminal.json' },
  {
    does: 'puts pipes where files were',
    command: `cd /spool; rm -rf ${AGAINST_FILES}; mkfifo ${AGAINST_FILES}; mkdir -p processes/process-1; mkfifo processes/process-1/beginning.json`,
  },
  { does: 'removes the permissions of its own folder', command: 'chmod 000 /workspace' },
  { does: 'removes its working directory', command: 'mkdir gone; cd gone; rmdir ../gone' },
]

/** Attacks that block the supervisor: the server notices only after a timeout. */
export const SLOW_SABOTAGE: readonly Sabotage[] = [
  { does: 'stops its supervisor', command: 'kill -STOP $PPID; sleep 1000' },
]
