import { nameOf } from './command-prefixes.ts'
import type { Command } from './shell-commands.ts'
import type { Word } from './shell-words.ts'

/** A call of a program, as rows of the table look at it. */
type ProgramCall = {
  name: string
  /** What is no option. */
  operands: Word[]
  /** All words behind the name that are known. */
  texts: string[]
  /** One of these options is there: long ones may be shortened or have a value, letters may stand together. */
  has(...options: string[]): boolean
  /** One of them is there, or a word that may turn out to be one. */
  mayHave(...options: string[]): boolean
  command: Command
  /** All commands of the same command line. */
  beside: readonly Command[]
}

type Destruction = { names: readonly string[]; when?(call: ProgramCall): boolean; why: string }

/** Folders that a tool makes anew from other files. */
const MADE_ANEW = new Set([
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

/** What goes can be had again: something in the sandbox's own /tmp, or a folder of the kind above. */
function isNoLoss({ text, isLiteral }: Word): boolean {
  const parts = text.split('/').filter((part) => part !== '' && part !== '.')
  if (!isLiteral || parts.includes('..')) return false
  if (text.startsWith('/')) return parts[0] === 'tmp' && parts.length > 1
  return MADE_ANEW.has(parts.at(-1) ?? '')
}

/**
 * What destroys, by the words it is written with. `rm` of files that are named one by one is the work of every day; it is
 * asked about where whole folders go, or where what goes is not named.
 */
export const DESTRUCTION: readonly Destruction[] = [
  {
    names: ['rm'],
    when: ({ operands, mayHave }) =>
      operands.some(({ isLiteral }) => !isLiteral) || (mayHave('-r', '-R', '--recursive') && !operands.every(isNoLoss)),
    why: 'it deletes whole folders, or files that it does not name',
  },
  { names: ['shred', 'srm', 'wipe'], why: 'it deletes beyond recovery' },
  { names: ['truncate'], why: 'it cuts files short' },
  {
    names: ['mkfs', 'mkfs.', 'mke2fs', 'mkswap', 'wipefs', 'fdisk', 'sfdisk', 'cfdisk', 'gdisk', 'sgdisk', 'parted'],
    why: 'it changes what a disk is made of',
  },
  { names: ['blkdiscard', 'hdparm', 'cryptsetup', 'lvremove', 'vgremove', 'pvremove'], why: 'it wipes disks' },
  { names: ['zfs', 'zpool', 'btrfs'], when: says('destroy', 'delete', 'rollback'), why: 'it wipes disks' },
  {
    names: ['dd'],
    when: ({ command }) => command.words.some((word) => writesByDd(word)),
    why: 'it writes over a file or a device byte by byte',
  },
  {
    names: ['tee', 'cp', 'mv', 'install', 'rsync', 'cat'],
    when: ({ operands }) => operands.some(({ text }) => isDevice(text)),
    why: 'it writes over a device',
  },
  { names: ['mv'], when: ({ texts }) => texts.includes('/dev/null'), why: 'it throws files away' },
  {
    names: ['find', 'fd', 'fdfind'],
    when: ({ texts }) => texts.includes('-delete'),
    why: 'it deletes everything it finds',
  },
  {
    names: ['chmod', 'chown', 'chgrp', 'setfacl', 'chattr'],
    when: ({ has }) => has('-R', '--recursive'),
    why: 'it changes the rights of whole folders',
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
    when: says('stop', 'disable', 'mask', 'kill', 'poweroff', 'reboot', 'halt', 'isolate'),
    why: 'it stops services',
  },
  { names: ['userdel', 'groupdel', 'deluser', 'delgroup'], why: 'it deletes users' },
  { names: ['crontab'], when: ({ has }) => has('-r'), why: 'it deletes the table of planned commands' },
  {
    names: ['rsync'],
    when: ({ texts }) => texts.some((text) => /^--(del|remove-source)/.test(text)),
    why: 'it deletes what the other side does not have',
  },
  { names: ['tar'], when: ({ texts }) => texts.includes('--remove-files'), why: 'it deletes what it packs' },
  { names: ['zip'], when: ({ has }) => has('-m', '--move'), why: 'it deletes what it packs' },
  { names: ['git'], when: isGitLoss, why: 'it throws away work or history that git does not keep elsewhere' },
  { names: ['gh', 'glab'], when: says('delete'), why: 'it deletes at the forge' },
  { names: ['npm', 'pnpm', 'yarn'], when: says('unpublish'), why: 'it takes back what others use' },
  {
    names: ['psql', 'mysql', 'mariadb', 'sqlite3', 'duckdb', 'clickhouse-client', 'clickhouse', 'cqlsh', 'sqlcmd'],
    when: (call) => sqlOf(call).some(isSqlLoss),
    why: 'it drops or empties tables',
  },
  { names: ['dropdb', 'dropuser'], why: 'it deletes a database or its users' },
  { names: ['mysqladmin'], when: says('drop'), why: 'it deletes a database' },
  { names: ['redis-cli', 'valkey-cli'], when: says('flushall', 'flushdb'), why: 'it empties a database' },
  {
    names: ['mongo', 'mongosh'],
    when: ({ texts }) => texts.some((text) => /\b(dropDatabase|drop|deleteMany|remove)\s*\(/.test(text)),
    why: 'it drops or empties collections',
  },
  {
    names: ['docker', 'podman', 'nerdctl'],
    when: (call) => says('prune', 'rm', 'rmi', 'kill')(call) || (says('down')(call) && call.has('-v', '--volumes')),
    why: 'it deletes containers or what they keep',
  },
  { names: ['kubectl', 'oc', 'helm'], when: says('delete', 'drain', 'uninstall'), why: 'it deletes in a cluster' },
  { names: ['terraform', 'tofu', 'pulumi', 'cdk'], when: says('destroy'), why: 'it destroys machines' },
  {
    names: ['aws', 'gcloud', 'az', 'gsutil', 's3cmd', 'mc', 'rclone', 'doctl', 'heroku', 'fly', 'flyctl'],
    when: ({ operands }) =>
      operands.some(({ text }) =>
        /^(rm|rb|del|delete|delete-.+|purge|deletefile|terminate-.+|.+:destroy|destroy)$/.test(text),
      ),
    why: 'it deletes in a cloud',
  },
  {
    names: ['apt', 'apt-get', 'dpkg', 'dnf', 'yum', 'apk', 'pacman', 'brew'],
    when: (call) => says('remove', 'purge', 'erase', 'autoremove', 'del', 'uninstall')(call) || call.has('-R', '-P'),
    why: 'it removes programs',
  },
  {
    names: ['python', 'python3', 'python3.', 'perl', 'ruby', 'node', 'php', 'lua', 'deno', 'bun'],
    when: ({ command, operands, beside }) =>
      operands.some(({ isProcess }) => isProcess) ||
      (command.isFed && operands.every(({ text }) => text === '-') && beside.some(isDownload)),
    why: 'it runs what was downloaded without anybody having read it',
  },
]

const DOWNLOADS = ['curl', 'wget', 'fetch', 'http', 'https', 'aria2c', 'nc', 'ncat']

const isDownload = ({ words }: Command): boolean => DOWNLOADS.includes(nameOf(words[0]) ?? '')

/** One of these words stands among those that are no options. */
function says(...words: string[]): (call: ProgramCall) => boolean {
  return ({ operands }) => operands.some(({ text }) => words.includes(text.toLowerCase()))
}

const writesByDd = ({ text, isOpen }: Word): boolean => isOpen || (/^of=/.test(text) && text !== 'of=/dev/null')

/** Those that anybody may write to at any time, and what only looks like a device. */
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
  stash: says('drop', 'clear'),
  reflog: says('expire', 'delete'),
  gc: ({ texts }) => texts.some((text) => text.startsWith('--prune')),
  worktree: ({ operands, has }) => operands.some(({ text }) => text === 'remove') && has('-f', '--force'),
  'update-ref': ({ has }) => has('-d'),
  'filter-branch': () => true,
  'filter-repo': () => true,
}

/** Options of git itself that take the next word with them. */
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

/** What a database is told: on its command line, from a here-document, or by an `echo` before it. */
function sqlOf({ command, beside, texts }: ProgramCall): string[] {
  const given = command.redirections.flatMap(
    ({ operator, target, body }) => body?.text ?? (operator === '<<<' ? target.text : []),
  )
  const echoed = command.isFed
    ? beside.filter(({ words }) => ['echo', 'printf', 'cat'].includes(nameOf(words[0]) ?? ''))
    : []
  const said = echoed.flatMap(({ words, redirections }) => [
    ...words.slice(1).map(({ text }) => text),
    ...redirections.flatMap(({ body }) => body?.text ?? []),
  ])
  return [...texts, ...given, ...said]
}

const SQL_COMMENTS_AND_TEXTS = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'/g
const SQL_DROPS =
  /\b(drop\s+(table|database|schema|view|index|user|role|column|materialized)|alter\s+table\s+\S+\s+drop|truncate)\b/i
const SQL_EMPTIES = /\b(delete\s+from|update\s+\S+\s+set)\b/i

/** More than anybody reads, and than the expressions above are quick with. */
const LONGEST_SQL = 20_000

function isSqlLoss(text: string): boolean {
  if (text.length > LONGEST_SQL) return true
  const statements = text.replaceAll(SQL_COMMENTS_AND_TEXTS, ' ').split(';')
  return statements.some((sql) => SQL_DROPS.test(sql) || (SQL_EMPTIES.test(sql) && !/\bwhere\b/i.test(sql)))
}

export function newProgramCall(name: string, command: Command, beside: readonly Command[]): ProgramCall {
  const words = command.words.slice(1)
  const end = words.findIndex(({ text }) => text === '--')
  const upTo = end < 0 ? words : words.slice(0, end)
  const isOption = ({ text }: Word) => /^-./.test(text)
  const has = (...options: string[]) => upTo.some(({ text }) => options.some((option) => isSame(text, option)))
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

function isSame(text: string, option: string): boolean {
  if (!option.startsWith('--')) return /^-[A-Za-z]/.test(text) && text.slice(1).includes(option.slice(1))
  const name = text.split('=')[0]!
  return name === option || (name.length > 3 && name.startsWith('--') && option.startsWith(name))
}
