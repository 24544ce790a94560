import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto'
import { readFileSync, type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Problem } from '../core/problem.ts'
import { createFileSync, replaceFileSync } from '../disk/atomic-write.ts'
import { GROUP_AND_OTHERS, makeFilePrivate } from '../disk/private-file.ts'
import type { SecretBox, SecretKeys } from '../ports/secret-box.ts'

/** `id` is a digest of the key, so that a damaged key is detected. The last key of the file is current. */
type Key = { id: string; key: Buffer }

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const VERSION = 'v1'
const LOCK_TIMEOUT_MS = 5_000

/** The keys in `secret.key` of this home; the file is created when the first secret is sealed. */
export function openSecretKeys(home: string): SecretKeys {
  const file = join(home, 'secret.key')
  let known: { keys: Key[]; stamp: string } | undefined

  /** Checks the file each time, so that a rotation by another process takes effect before the next seal. */
  function keys(): Key[] {
    const stats = statSync(file, { throwIfNoEntry: false })
    if (!stats) return []
    const stamp = stampOf(stats)
    if (known?.stamp !== stamp) known = { keys: readKeys(file, stats), stamp }
    return known.keys
  }

  function currentKey(): Key {
    const current = keys().at(-1)
    if (current) return current
    // If another process creates the file first, its key is read.
    createFileSync(file, textOf([newKey()]))
    return keys().at(-1)!
  }

  function change(edit: (keys: Key[]) => Key[]): void {
    withLock(file, () => replaceFileSync(file, textOf(edit(keys()))))
  }

  const box: SecretBox = {
    seal: (plain, context) => seal(plain, context, currentKey()),
    open(sealed, context) {
      const key = keys().find(({ id }) => id === keyIdOf(sealed))
      return key && open(sealed, context, key)
    },
  }
  return {
    box,
    addKey() {
      currentKey()
      let old: string[] = []
      change((present) => {
        old = present.map(({ id }) => id)
        return [...present, newKey()]
      })
      return old
    },
    isCurrent: (sealed) => keyIdOf(sealed) === currentKey().id,
    dropKeys: (ids) => change((present) => present.filter((key) => key === present.at(-1) || !ids.includes(key.id))),
  }
}

/** `v1.<key id>.<nonce, tag and text in base64url>` */
function seal(plain: string, context: string, { id, key }: Key): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const text = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return [VERSION, id, Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')].join('.')
}

function open(sealed: string, context: string, { key }: Key): string | undefined {
  const bytes = Buffer.from(sealed.split('.')[2] ?? '', 'base64url')
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8')
  } catch {
    // The tag does not match: another context, or the text was changed.
    return undefined
  }
}

function keyIdOf(sealed: string): string | undefined {
  const [version, id] = sealed.split('.')
  return version === VERSION ? id : undefined
}

function newKey(key: Buffer = randomBytes(KEY_BYTES)): Key {
  return { id: hash('sha256', key, 'hex').slice(0, 12), key }
}

const stampOf = ({ ino, ctimeMs, mtimeMs, size, mode }: Stats): string => [ino, ctimeMs, mtimeMs, size, mode].join(' ')

/** One line per key: its id and the key in base64. */
function readKeys(file: string, { mode }: Stats): Key[] {
  if (process.platform !== 'win32' && (mode & GROUP_AND_OTHERS) !== 0)
    throw new Problem(
      'invalid',
      `The key file ${file} can be read by other users of this machine. Run \`chmod 600 ${file}\`; if others may have ` +
        'read it, run `holdfast auth rotate-key` and replace the stored credentials.',
      { path: file },
    )
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const keys = lines.map((line) => {
    const [id, text = ''] = line.split(' ')
    const key = newKey(Buffer.from(text, 'base64'))
    if (key.id !== id || key.key.length !== KEY_BYTES) throw damaged(file)
    return key
  })
  if (keys.length === 0) throw damaged(file)
  return keys
}

const damaged = (file: string) =>
  new Problem(
    'invalid',
    `The key file ${file} is damaged. Restore it from a backup. Without a backup the stored credentials are lost: move ` +
      'the file away, then remove and add them with `holdfast auth`.',
    { path: file },
  )

const textOf = (keys: Key[]): string => keys.map(({ id, key }) => `${id} ${key.toString('base64')}\n`).join('')

/** Concurrent changes would lose a key. The lock is an exclusive transaction: it is released if the process dies. */
function withLock(file: string, work: () => void): void {
  makeFilePrivate(`${file}.lock`)
  const lock = new DatabaseSync(`${file}.lock`, { timeout: LOCK_TIMEOUT_MS })
  try {
    lock.exec('begin exclusive')
    work()
  } finally {
    lock.close()
  }
}
