/**
 * What a backup does with an entry of a home. `copied`: as it is. `database`: as a snapshot. `on-request`: with
 * `--with-secret-key`. `workspaces`: unless left out. `rebuilt`: Holdfast writes it again. `never`: belongs to the
 * processes that run now, or is a copy.
 */
type FileFate = 'copied' | 'database' | 'on-request' | 'workspaces' | 'rebuilt' | 'never'

type HomeFile = { name: string; pattern: RegExp; fate: FileFate }

const file = (name: string, fate: FileFate, pattern = new RegExp(`^${name.replaceAll('.', '\\.')}$`)): HomeFile => ({
  name,
  pattern,
  fate,
})

/** Every kind of entry in a home; docs/operations.md has the same list. */
export const HOME_FILES: readonly HomeFile[] = [
  file('holdfast.db', 'database'),
  file('holdfast.db-wal', 'database', /^holdfast\.db-(wal|shm|journal)$/),
  file('config.yaml', 'copied'),
  file('api-key', 'copied'),
  file('notes', 'copied'),
  file('outbox.jsonl', 'copied'),
  file('spill', 'copied'),
  file('chat-history', 'copied'),
  file('workspaces', 'workspaces'),
  file('tool-packages', 'copied'),
  file('programs', 'never'),
  file('secret.key', 'on-request'),
  file('chunks.db', 'rebuilt', /^chunks\.db(-wal|-shm|-journal|\.damaged-.*)?$/),
  file('holdfast.db.before-…', 'never', /^holdfast\.db\.before-/),
  file('server.json', 'never'),
  file('uploads', 'never'),
  file('owner.lock', 'never', /^(owner|secret\.key)\.lock(-journal|-wal|-shm|\.pid)?$/),
  file('last-backup.json', 'never'),
  file('last-freeze.json', 'never'),
  file('….tmp', 'never', /^\..*\.tmp$/),
]

/** Undefined for an entry that no version of Holdfast writes; a backup copies it. */
export const fateOf = (name: string): FileFate | undefined => HOME_FILES.find(({ pattern }) => pattern.test(name))?.fate

/** Locks, sockets and process ids of workspaces, and what the next start writes again. */
const LEFT_OUT_OF_WORKSPACES = [
  /^\.(locks|egress|etc|making-.*|removing-.*)$/,
  /^\.programs\/[^/]+\/egress$/,
  /^[^/]+\/supervisor\.(sock|sock\.new|json|started)$/,
]

/** Whether a backup copies this entry, named by its path below the folder of all workspaces. */
export const isKeptInWorkspaces = (path: string): boolean => !LEFT_OUT_OF_WORKSPACES.some((one) => one.test(path))

/** Temporary files of interrupted writes, in folders that only Holdfast writes. */
export const isKeptInHome = (path: string): boolean => !/(^|\/)\.[^/]*\.tmp$/.test(path)

/** What commands made, with modes of their own: other users cannot reach it through the folder of the workspace. */
export const isInsideWorkspace = (path: string): boolean =>
  /^workspaces\/(\.programs\/)?[^/]+\/(files|spool)$/.test(path)

/** Links have a meaning only in the files of a workspace, where they lead to nothing outside the sandbox. */
export const mayHoldLinks = (path: string): boolean => /^workspaces\/(\.programs\/)?[^/]+\/files\/./.test(path)
