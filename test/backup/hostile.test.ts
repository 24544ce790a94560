import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { restoreBackup } from '../../src/app.ts'
import { ARCHIVED_HOME, CHECKSUMS, checksumLine, MANIFEST } from '../../src/backup/archive-layout.ts'
import { END_OF_ARCHIVE, encodeHeader, paddingOf, type TarEntry } from '../../src/backup/tar-headers.ts'
import { Problem } from '../../src/core/problem.ts'
import { StorageError } from '../../src/ports/storage-error.ts'
import { newPlace, succeed } from './fixture-backup.ts'

const HOME = `${ARCHIVED_HOME}/`

test('an archive that was changed, cut or forged is refused with a sentence and leaves nothing behind', async (t) => {
  const { home, file, restored, folder } = newPlace(t)
  await succeed(home, 'agents', 'create', 'ada')
  mkdirSync(join(home, 'notes'))
  writeFileSync(join(home, 'notes', 'a.md'), '- tea\n')
  await succeed(home, 'backup', file)
  const good = gunzipSync(readFileSync(file))
  const manifest = manifestIn(good)
  const link = (path: string, target: string) => entry({ path: HOME + path, type: 'link', target })
  const folders = ['', 'workspaces', 'workspaces/conv-1', 'workspaces/conv-1/files'].map((path) =>
    entry({ path: path === '' ? ARCHIVED_HOME : HOME + path, type: 'folder' }),
  )
  const database = readFileSync(join(home, 'holdfast.db'))
  const cases: Record<string, [Buffer, RegExp]> = {
    'no archive': [Buffer.from('hello'), /compressed data is damaged/],
    empty: [Buffer.alloc(0), /cut short/],
    'cut in the middle': [readFileSync(file).subarray(0, 3_000), /cut short|damaged/],
    // What the byte belongs to differs from run to run: any refusal is right.
    'a changed byte in the compressed data': [changed(readFileSync(file), 2_000), /.+/],
    'a changed byte in a note': [gzipSync(swapped(good, '- tea', '- Tea')), /checksum of "home\/notes\/a.md" is wrong/],
    'cut after an entry': [
      gzipSync(Buffer.concat([good.subarray(0, -5_000 - (good.length % 512)), END_OF_ARCHIVE])),
      /.+/,
    ],
    'a newer format': [archive({ ...manifest, format: 2 }, []), /newer. Use that version/],
    'newer migrations': [archive({ ...manifest, migrations: 9_999 }, []), /newer. Use that version/],
    'a broken manifest': [archive({ format: 'x' }, []), /manifest is damaged/],
    'an absolute path': [archive(manifest, [entry({ path: '/etc/evil', text: 'x' })]), /outside/],
    'a path upwards': [archive(manifest, [entry({ path: `${HOME}notes/../../../evil`, text: 'x' })]), /leads outside/],
    'a link at the top': [archive(manifest, [link('notes', '/etc')]), /is a link outside/],
    'a link in place of files': [
      archive(manifest, [...folders.slice(0, 3), link('workspaces/conv-1/files', '/')]),
      /is a link/,
    ],
    'a file through a link': [
      archive(manifest, [
        ...folders,
        link('workspaces/conv-1/files/out', folder),
        entry({ path: `${HOME}workspaces/conv-1/files/out/evil`, text: 'x' }),
      ]),
      /used as a folder and is none/,
    ],
    'a file over a link': [
      archive(manifest, [
        ...folders,
        link('workspaces/conv-1/files/out', join(folder, 'evil')),
        entry({ path: `${HOME}workspaces/conv-1/files/out`, text: 'x' }),
      ]),
      /twice/,
    ],
    'the same file twice': [
      archive(manifest, [entry({ path: `${HOME}api-key`, text: 'a' }), entry({ path: `${HOME}api-key`, text: 'b' })]),
      /twice/,
    ],
    'a hard link': [archive(manifest, [withFlag(entry({ path: `${HOME}api-key` }), '1')]), /no file, folder or link/],
    'a device': [archive(manifest, [withFlag(entry({ path: `${HOME}api-key` }), '3')]), /no file, folder or link/],
    'a size of a petabyte': [
      archive(manifest, [entry({ path: `${HOME}api-key`, size: 2 ** 50 })]),
      /larger than the free space/,
    ],
    'an owner lock': [archive(manifest, [entry({ path: `${HOME}server.json`, text: '{}' })]), /not part of a backup/],
    'no database': [archive(manifest, [entry({ path: `${HOME}api-key`, text: 'a' })]), /has no database/],
    'no checksums': [
      gzipSync(Buffer.concat([ownFile(MANIFEST, JSON.stringify(manifest)), END_OF_ARCHIVE])),
      /cut short/,
    ],
    'a file without a checksum': [
      gzipSync(
        Buffer.concat([
          ownFile(MANIFEST, JSON.stringify(manifest)),
          entry({ path: `${HOME}api-key`, text: 'a' }),
          ownFile(CHECKSUMS, ''),
          END_OF_ARCHIVE,
        ]),
      ),
      /without a checksum/,
    ],
    'a damaged database': [
      archive(manifest, [
        entry({ path: `${HOME}holdfast.db`, text: changed(database, 4_000).toString('latin1').slice(0, 9_000) }),
      ]),
      /damaged|malformed/,
    ],
    'something after the end': [gzipSync(Buffer.concat([good, Buffer.from('more')])), /continues after its end/],
  }
  for (const [name, [bytes, sentence]] of Object.entries(cases)) {
    const forged = join(folder, 'forged.tar.gz')
    writeFileSync(forged, bytes)
    await assert.rejects(
      restoreBackup(forged, { HOLDFAST_HOME: restored }),
      (fault: Error) => {
        assert.ok(fault instanceof Problem || fault instanceof StorageError, `${name}: ${fault.stack}`)
        assert.match(fault.message, sentence, name)
        return true
      },
      name,
    )
    assert.deepEqual(readdirSync(folder).sort(), ['backup.tar.gz', 'forged.tar.gz', 'home'], name)
  }
  await succeed(restored, 'restore', file)
})

test('links, names in any encoding, long names and modes survive; sockets and links out of place do not', async (t) => {
  const { home, file, restored } = newPlace(t)
  await succeed(home, 'agents', 'create', 'ada')
  const files = join(home, 'workspaces', 'conv-1', 'files')
  const deep = join(files, ...Array.from({ length: 8 }, (_, index) => `${index}${'long'.repeat(10)}`))
  mkdirSync(deep, { recursive: true })
  mkdirSync(join(home, 'notes'))
  writeFileSync(join(deep, 'größe.txt'), 'deep')
  writeFileSync(Buffer.concat([Buffer.from(`${files}/`), Buffer.from([0xff, 0xfe, 0x0a])]), 'bytes')
  writeFileSync(join(files, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
  symlinkSync('/etc/passwd', join(files, 'passwd'))
  symlinkSync(join(home, 'holdfast.db'), join(home, 'notes', 'agent-1.md'))
  writeFileSync(join(home, 'workspaces', 'conv-1', 'supervisor.json'), '{"pid":1}')
  writeFileSync(join(home, 'mine.txt'), 'unknown')
  await succeed(home, 'backup', file)
  await succeed(restored, 'restore', file)
  const copy = join(restored, 'workspaces', 'conv-1', 'files')
  assert.equal(readFileSync(join(deep.replace(home, restored), 'größe.txt'), 'utf8'), 'deep')
  assert.equal(readFileSync(Buffer.concat([Buffer.from(`${copy}/`), Buffer.from([0xff, 0xfe, 0x0a])]), 'utf8'), 'bytes')
  assert.equal(lstatSync(join(copy, 'run.sh')).mode & 0o777, 0o755)
  assert.equal(readlinkSync(join(copy, 'passwd')), '/etc/passwd')
  assert.ok(!existsSync(join(restored, 'notes', 'agent-1.md')))
  assert.ok(!existsSync(join(restored, 'workspaces', 'conv-1', 'supervisor.json')))
  assert.equal(readFileSync(join(restored, 'mine.txt'), 'utf8'), 'unknown')
})

type Forged = { path: string; type?: TarEntry['type']; text?: string; target?: string; size?: number }

function entry({ path, type = 'file', text = '', target = '', size }: Forged): Buffer {
  const content = Buffer.from(text, 'latin1')
  const header = { path, type, size: size ?? content.length, mode: 0o700, modifiedAt: 0, target }
  return Buffer.concat([encodeHeader(header), content, Buffer.alloc(paddingOf(content.length))])
}

const ownFile = (path: string, text: string): Buffer => entry({ path, text })

/** An archive with checksums that match its files. */
function archive(manifest: object, entries: Buffer[]): Buffer {
  const sums = entries.map((one) => {
    const size = Number.parseInt(one.toString('latin1', 124, 135), 8)
    if (one[156] !== 0x30 || size > 1e9) return ''
    const path = one.toString('latin1', 0, one.indexOf(0))
    return checksumLine(
      path,
      createHash('sha256')
        .update(one.subarray(512, 512 + size))
        .digest('hex'),
    )
  })
  return gzipSync(
    Buffer.concat([
      ownFile(MANIFEST, JSON.stringify(manifest)),
      ...entries,
      ownFile(CHECKSUMS, sums.join('')),
      END_OF_ARCHIVE,
    ]),
  )
}

/** The same header with another type, and a checksum for it. */
function withFlag(header: Buffer, flag: string): Buffer {
  const bytes = Buffer.from(header)
  bytes.write(flag, 156)
  bytes.fill(' ', 148, 156)
  const sum = bytes.subarray(0, 512).reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return bytes
}

function changed(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = copy[at]! ^ 0x55
  return copy
}

function swapped(bytes: Buffer, from: string, to: string): Buffer {
  const copy = Buffer.from(bytes)
  copy.write(to, copy.indexOf(from))
  return copy
}

function manifestIn(tar: Buffer): Record<string, unknown> {
  const size = Number.parseInt(tar.toString('latin1', 124, 135), 8)
  return JSON.parse(tar.toString('utf8', 512, 512 + size))
}
