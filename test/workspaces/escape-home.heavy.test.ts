import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  foldersOfApplication,
  foldersToCover,
  parseMounts,
  placesOf,
} from '../../src/workspaces/sandbox/covered-folders.ts'
import { missingProgram } from '../harness/programs.ts'
import type { Sighting } from './escapes/homes-in-system-folders.ts'

const LAYOUTS = fileURLToPath(new URL('./escapes/homes-in-system-folders.ts', import.meta.url))
const OVERLAY = 'mount -t overlay overlay -o lowerdir=/usr,upperdir=upper,workdir=work /usr'

test('no command sees the home, the database or the settings of the server, wherever the machine keeps them', {
  skip: missingProgram('bwrap') || withoutOverlays(),
}, (context) => {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-homes-'))
  context.after(() => rmSync(scratch, { recursive: true }))
  const { stdout, stderr } = spawnSync('unshare', ['-m', process.execPath, LAYOUTS, scratch], { encoding: 'utf8' })
  assert.match(stdout, /^\{/, stderr)
  const {
    '/usr/bin alone': programs,
    '/usr/lib alone': libraries,
    '/': root,
    ...covered
  } = JSON.parse(stdout) as Record<string, Sighting>
  assert.equal(Object.keys(covered).length, 18)
  for (const [layout, sighting] of Object.entries(covered)) assert.deepEqual(sighting, { seen: 'works\n' }, layout)
  for (const refused of [programs, libraries, root])
    assert.match(refused?.refused ?? '', /The home is visible at .*cannot be hidden.* set HOLDFAST_HOME to it\.$/)
})

test('a folder is found at every path where mounts show it or a part of it', () => {
  const mounts = parseMounts(`
21 1 254:0 / / rw - ext4 /dev/vda rw
22 21 254:0 /srv/data /usr/src/app/data rw - ext4 /dev/vda rw
23 21 254:0 /srv /usr/share/a\\040b rw - ext4 /dev/vda rw
24 21 254:0 /srv/data/notes /usr/games rw - ext4 /dev/vda rw
25 21 0:30 /srv/data /usr/other rw - tmpfs none rw
26 21 254:0 /srv/database /usr/lib/similar rw - ext4 /dev/vda rw`)
  assert.deepEqual(placesOf('/srv/data', mounts), [
    '/srv/data',
    '/usr/src/app/data',
    '/usr/share/a b/data',
    '/usr/games',
  ])
  assert.deepEqual(placesOf('/usr/src/app/data/deep', mounts), [
    '/usr/src/app/data/deep',
    '/srv/data/deep',
    '/usr/share/a b/data/deep',
  ])
})

function withoutOverlays(): string | false {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-homes-'))
  const script = `mount -t tmpfs none ${scratch} && cd ${scratch} && mkdir upper work && ${OVERLAY}`
  const { status } = spawnSync('unshare', ['-m', 'sh', '-c', script])
  rmSync(scratch, { recursive: true })
  return status === 0 ? false : 'only where this user may mount overlays on the system folders of a private namespace'
}

test('the folder of the program, of the project that depends on it, and of a .env are all hidden', (context) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-program-')))
  context.after(() => rmSync(folder, { recursive: true }))
  const program = join(folder, 'app/node_modules/holdfast')
  for (const one of [join(program, 'dist'), join(folder, 'service')]) mkdirSync(one, { recursive: true })
  for (const file of ['app/package.json', 'app/node_modules/holdfast/package.json', 'service/.env'])
    writeFileSync(join(folder, file), '')
  const main = join(program, 'dist/main.js')
  assert.deepEqual(foldersOfApplication(main, join(folder, 'service')), [
    program,
    join(folder, 'app'),
    join(folder, 'service'),
  ])
  rmSync(join(folder, 'app/package.json'))
  assert.deepEqual(foldersOfApplication(main, folder), [program])
  const shown = [{ source: folder, destination: '/usr' }]
  const covers = foldersToCover({ home: join(folder, 'app/home'), others: [program], shown, mounts: [] })
  assert.deepEqual(covers, ['/usr/app/home', '/usr/app/node_modules/holdfast'])
})
