import { nameOf } from './command-prefixes.ts'
import type { Command } from './shell-commands.ts'
import type { Word } from './shell-words.ts'

/** A call of a program, as the rows of the table see it. */
type ProgramCall = {
  name: string
  /** Words that are not options. */
  operands: Word[]
  /** All words after the name. */
  texts: string[]
  /** Whether one of these options is given. Long ones may be abbreviated or have a value; letters may be combined. */
  has(...options: string[]): boolean
  /** Whether one of these options is given, or a word that may expand to one. */
  mayHave(...options: string[]): boolean
  command: Command
  /** All commands of the same command line. */
  beside: readonly Command[]
}

type Destruction = { names: readonly string[]; when?(call: ProgramCall): boolean; why: string }

/** Folders that a tool can generate again from other files. */
const REGENERATED_FOLDERS = new Set([
  'node_modules',
  '__pycache__',
  '.pytest_cache',
  '.mypy_cache',
  '.ruff_cache',
  '.tox',
  '.nox',
  '.gradle',
  '.next',
  '.nuxt',
  '.turbo',
  '.parcel-cache',
  '.cache',
  'coverage',
  'dist',
  'build',
  'target',
  '.venv',
  'venv',
])

/** Whether the deleted path can be recreated: in the sandbox's /tmp, or one of the folders above. */
function isReplaceable({ text, isLiteral }: Word): boolean {
  const parts = text.split('/').filter((part) => part !== '' && part !== '.')
  if (!isLiteral || parts.includes('..')) return false
  if (text.startsWith('/')) return parts[0] === 'tmp' && parts.length > 1
  return REGENERATED_FOLDERS.has(parts.at(-1) ?? '')
}

/**
 * Destructive commands, by their words. `rm` of files that are named one by one is routine; it needs approval where
 * whole folders or unnamed files are deleted.
 */
export const DESTRUCTION: readonly Destruction[] = [
  {
    names: ['rm'],
    when: ({ operands, mayHave }) =>
      operands.some(({ isLiteral }) => !isLiteral) ||
      (mayHave('-r', '-R', '--recursive') && !operands.every(isReplaceable)),
    why: 'it deletes whole folders, or files that are not named one by one',
  },
  { names: ['shred', 'srm', 'wipe'], why: 'it deletes files beyond recovery' },
  { names: ['truncate'], why: 'it truncates files' },
  {
    names: ['mkfs', 'mkfs.', 'mke2fs', 'mkswap', 'wipefs', 'fdisk', 'sfdisk', 'cfdisk', 'gdisk', 'sgdisk', 'parted'],
    why: 'it formats or repartitions a disk',
  },
  { names: ['blkdiscard', 'hdparm', 'cryptsetup', 'lvremove', 'vgremove', 'pvremove'], why: 'it wipes disks' },
  { names: ['zfs', 'zpool', 'btrfs'], when: hasOperand('destroy', 'delete', 'rollback'), why: 'it wipes disks' },
  {
    names: ['dd'],
    when: ({ command }) => command.words.some((word) => writesByDd(word)),
    why: 'it overwrites a file or a device',
  },
  {
    names: ['tee', 'cp', 'mv', 'install', 'rsync', 'cat'],
    when: ({ operands }) => operands.some(({ text }) => isDevice(text)),
    why: 'it overwrites a device',
  },
  {
    names: ['mv'],
    when: ({ texts }) => texts.includes('/dev/null'),
    why: 'it discards files by moving them to /dev/null',
  },
  {
    names: ['find', 'fd', 'fdfind'],
    when: ({ texts }) => texts.includes('-delete'),
    why: 'it deletes everything it finds',
  },
  {
    names: ['chmod', 'chown', 'chgrp', 'setfacl', 'chattr'],
    when: ({ has }) => has('-R', '--recursive'),
    why: 'it changes the permissions of whole folders',
  },
  {
    names: ['kill'],
    when: ({ texts }) => texts.includes('-1') || texts.at(-1) === '1',
    why: 'it ends every process',
  },
  { names: ['killall', 'killall5', 'pkill', 'skill', 'slay'], why: 'it ends processes by name' },
  { names: ['shutdown', 'reboot', 'halt', 'poweroff', 'telinit', 'init', 'kexec'], why: 'it stops the machine' },
  {
    names: ['systemctl', 'service'],
    when: hasOperand('stop', 'disable', 'mask', 'kill', 'poweroff', 'reboot', 'halt', 'isolate'),
    why: 'it stops services',
  },
  { names: ['userdel', 'groupdel', 'deluser', 'delgroup'], why: 'it deletes users' },
  { names: ['crontab'], when: ({ has }) => has('-r'), why: 'it deletes the crontab' },
  {
    names: ['rsync'],
    when: ({ texts }) => texts.some((text) => /^--(del|remove-source)/.test(text)),
    why: 'it deletes files at the source or the destination',
  },
  {
    names: ['tar'],
    when: ({ texts }) => texts.includes('--remove-files'),
    why: 'it deletes the files that it archives',
  },
  { names: ['zip'], when: ({ has }) => has('-m', '--move'), why: 'it deletes the files that it archives' },
  { names: ['git'], when: isGitLoss, why: 'it discards work or history that git does not keep elsewhere' },
  { names: ['gh', 'glab'], when: hasOperand('delete'), why: 'it deletes something on the Git host' },
  {
    names: ['npm', 'pnpm', 'yarn'],
    when: hasOperand('unpublish'),
    why: 'it unpublishes a package that others may use',
  },
  {
    names: ['psql', 'mysql', 'mariadb', 'sqlite3', 'duckdb', 'clickhouse-client', 'clickhouse', 'cqlsh', 'sqlcmd'],
    when: (call) => collectSql(call).some(isSqlLoss),
    why: 'it drops or empties tables',
  },
  { names: ['dropdb', 'dropuser'], why: 'it deletes a database or its users' },
  { names: ['mysqladmin'], when: hasOperand('drop'), why: 'it deletes a database' },
  { names: ['redis-cli', 'valkey-cli'], when: hasOperand('flushall', 'flushdb'), why: 'it empties a database' },
  {
    names: ['mongo', 'mongosh'],
    when: ({ texts }) => texts.some((text) => /\b(dropDatabase|drop|deleteMany|remove)\s*\(/.test(text)),
    why: 'it drops or empties collections',
  },
  {
    names: ['docker', 'podman', 'nerdctl'],
    when: (call) =>
      hasOperand('prune', 'rm', 'rmi', 'kill')(call) || (hasOperand('down')(call) && call.has('-v', '--volumes')),
    why: 'it ends or deletes containers, images or volumes',
  },
  {
    names: ['kubectl', 'oc', 'helm'],
    when: hasOperand('delete', 'drain', 'uninstall'),
    why: 'it deletes resources in a cluster',
  },
  { names: ['terraform', 'tofu', 'pulumi', 'cdk'], when: hasOperand('destroy'), why: 'it destroys infrastructure' },
  {
    names: ['aws', 'gcloud', 'az', 'gsutil', 's3cmd', 'mc', 'rclone', 'doctl', 'heroku', 'fly', 'flyctl'],
    when: ({ operands }) =>
      operands.some(({ text }) =>
        /^(rm|rb|del|delete|delete-.+|purge|deletefile|terminate-.+|.+:destroy|destroy)$/.test(text),
      ),
    why: 'it deletes cloud resources',
  },
  {
    names: ['apt', 'apt-get', 'dpkg', 'dnf', 'yum', 'apk', 'pacman', 'brew'],
    when: (call) =>
      hasOperand('remove', 'purge', 'erase', 'autoremove', 'del', 'uninstall')(call) || call.has('-R', '-P'),
    why: 'it uninstalls programs',
  },
  {
    names: ['python', 'python3', 'python3.', 'perl', 'ruby', 'node', 'php', 'lua', 'deno', 'bun'],
    when: ({ command, operands, beside }) =>
      operands.some(({ isProcess }) => isProcess) ||
      (command.isFed && operands.every(({ text }) => text === '-') && beside.some(isDownload)),
    why: 'it runs downloaded code without a review',
  },
]

const DOWNLOADS = ['curl', 'wget', 'fetch', 'http', 'https', 'aria2c', 'nc', 'ncat']

const isDownload = ({ words }: Command): boolean => DOWNLOADS.includes(nameOf(words[0]) ?? '')

/** Whether one of these words is an operand. */
function hasOperand(...words: string[]): (call: ProgramCall) => boolean {
  return ({ operands }) => operands.some(({ text }) => words.includes(text.toLowerCase()))
}

const writesByDd = ({ text, isOpen }: Word): boolean => isOpen || (/^of=/.test(text) && text !== 'of=/dev/null')

/** Devices that are harmless to write to, and paths that only look like a device. */
const HARMLESS_DEVICES = /^\/dev\/(null|zero|full|u?random|tty|stdin|stdout|stderr|(fd|shm|pts|tcp|udp)(\/.*)?)$/

export const isDevice = (path: string): boolean => /^\/+dev\/+./.test(path) && !HARMLESS_DEVICES.test(path)

type GitLoss = (call: ProgramCall) => boolean

const GIT_LOSSES: Record<string, GitLoss> = {
  push: ({ operands, mayHave }) =>
    mayHave('-f', '--force', '--force-with-lease', '--mirror', '-d', '--delete', '--prune') ||
    operands.some(({ text }) => /^[+:]/.test(text)),
  reset: ({ mayHave }) => mayHave('--hard', '--merge', '--keep'),
  clean: ({ mayHave, has }) => mayHave('-f', '--force') && !has('-n', '--dry-run'),
  checkout: ({ texts, has }) => has('-f', '--force') || texts.includes('--') || texts.includes('.'),
  switch: ({ has }) => has('-f', '--force', '--discard-changes'),
  restore: ({ has }) => !has('-S', '--staged') || has('-W', '--worktree'),
  branch: ({ has }) => has('-D') || (has('-d', '--delete') && has('-f', '--force')),
  rm: ({ has }) => has('-r', '-f', '--force') && !has('--cached'),
  stash: hasOperand('drop', 'clear'),
  reflog: hasOperand('expire', 'delete'),
  gc: ({ texts }) => texts.some((text) => text.startsWith('--prune')),
  worktree: ({ operands, has }) => operands.some(({ text }) => text === 'remove') && has('-f', '--force'),
  'update-ref': ({ has }) => has('-d'),
  'filter-branch': () => true,
  'filter-repo': () => true,
}

/** Options of git itself whose value is the next word. */
const GIT_VALUED = ['-C', '-c', '--git-dir', '--work-tree', '--namespace', '--exec-path', '--super-prefix']

function isGitLoss({ name, command, beside }: ProgramCall): boolean {
  const { words } = command
  let at = 1
  for (; words[at]?.text.startsWith('-'); at++) if (GIT_VALUED.includes(words[at]!.text)) at += 1
  const verb = words[at]
  if (!verb) return false
  if (!verb.isLiteral) return true
  const loss = Object.hasOwn(GIT_LOSSES, verb.text) ? GIT_LOSSES[verb.text] : undefined
  return loss?.(newProgramCall(name, { ...command, words: words.slice(at) }, beside)) ?? false
}

/** SQL for a database: from its command line, a here-document, or an `echo` before it. */
function collectSql({ command, beside, texts }: ProgramCall): string[] {
  const redirected = command.redirections.flatMap(
    ({ operator, target, body }) => body?.text ?? (operator === '<<<' ? target.text : []),
  )
  const echoed = command.isFed
    ? beside.filter(({ words }) => ['echo', 'printf', 'cat'].includes(nameOf(words[0]) ?? ''))
    : []
  const echoedTexts = echoed.flatMap(({ words, redirections }) => [
    ...words.slice(1).map(({ text }) => text),
    ...redirections.flatMap(({ body }) => body?.text ?? []),
  ])
  return [...texts, ...redirected, ...echoedTexts]
}

const SQL_COMMENTS_AND_TEXTS = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'/g
const SQL_DROPS =
  /\b(drop\s+(table|database|schema|view|index|user|role|column|materialized)|alter\s+table\s+\S+\s+drop|truncate)\b/i
const SQL_EMPTIES = /\b(delete\s+from|update\s+\S+\s+set)\b/i

/** Longer SQL counts as destructive: the expressions above would be slow on it. */
const MAX_SQL_CHARACTERS = 20_000

function isSqlLoss(text: string): boolean {
  if (text.length > MAX_SQL_CHARACTERS) return true
  // A comment that is never closed: each search for its end would read on to the end of the text.
  if (text.lastIndexOf('/*') > text.lastIndexOf('*/')) return true
  const statements = text.replaceAll(SQL_COMMENTS_AND_TEXTS, ' ').split(';')
  return statements.some((sql) => SQL_DROPS.test(sql) || (SQL_EMPTIES.test(sql) && !/\bwhere\b/i.test(sql)))
}

export function newProgramCall(name: string, command: Command, beside: readonly Command[]): ProgramCall {
  const words = command.words.slice(1)
  const end = words.findIndex(({ text }) => text === '--')
  const upTo = end < 0 ? words : words.slice(0, end)
  const isOption = ({ text }: Word) => /^-./.test(text)
  const has = (...options: string[]) => upTo.some(({ text }) => options.some((option) => isSameOption(text, option)))
  return {
    name,
    command,
    beside,
    has,
    texts: words.map(({ text }) => text),
    operands: [...upTo.filter((word) => !isOption(word)), ...(end < 0 ? [] : words.slice(end + 1))],
    mayHave: (...options) => has(...options) || upTo.some(({ isOpen }) => isOpen),
  }
}

function isSameOption(text: string, option: string): boolean {
  if (!option.startsWith('--')) return /^-[A-Za-z]/.test(text) && text.slice(1).includes(option.slice(1))
  const name = text.split('=')[0]!
  return name === option || (name.length > 2 && name.startsWith('--') && option.startsWith(name))
}
