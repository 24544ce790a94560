import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import type { FileEdit, FileFault, FileSearchQuery, WorkspaceFiles } from '../../src/ports/workspace-files.ts'
import { newFilesClient } from '../../src/workspaces/files-client.ts'
import { type FileHandlerOptions, newFileHandler } from '../../src/workspaces/supervisor/files/file-handler.ts'

/** A workspace's folder, a folder outside that must stay unreachable, and the file handler of the workspace. */
export function openFilesFixture(t: Pick<TestContext, 'after'>, options: FileHandlerOptions = {}) {
  const place = mkdtempSync(join(tmpdir(), 'holdfast-files-'))
  t.after(() => rmSync(place, { recursive: true, force: true }))
  const folder = join(place, 'files')
  const outside = join(place, 'outside')
  mkdirSync(folder)
  mkdirSync(outside)
  writeFileSync(join(outside, 'secret.txt'), 'a secret\n')
  const newClient = (other: FileHandlerOptions): WorkspaceFiles => {
    const handler = newFileHandler(folder, { journal: join(place, 'journal'), ...options, ...other })
    // Serialized as on the wire.
    return newFilesClient(async (request) => JSON.parse(JSON.stringify(await handler.answer(request))))
  }
  const files = newClient({})
  return {
    place,
    folder,
    outside,
    files,
    /** A client of a new handler, as after a restart of the supervisor. */
    again: (other: FileHandlerOptions = {}) => newClient(other),
    put(path: string, content: string | Buffer) {
      const target = join(folder, path)
      mkdirSync(dirname(target), { recursive: true })
      writeFileSync(target, content)
    },
    get: (path: string) => readFileSync(join(folder, path), 'utf8'),
    replace: (path: string, find: string, replace: string) =>
      files.edit(path, { type: 'replace', find, replace, all: false }),
  }
}

type Answer = { type: 'done' } | { type: 'fault'; fault: FileFault; message: string }

export function assertFault(answer: Answer, fault: FileFault, words: RegExp = /./): void {
  assert.ok(answer.type === 'fault', `expected the fault ${fault}, got ${JSON.stringify(answer)}`)
  assert.equal(answer.fault, fault, answer.message)
  assert.match(answer.message, words)
}

export function done<T extends Answer>(answer: T): Extract<T, { type: 'done' }> {
  assert.equal(answer.type, 'done', JSON.stringify(answer))
  return answer as Extract<T, { type: 'done' }>
}

export const patch = (text: string): FileEdit => ({ type: 'patch', patch: text })

/** Every file operation, on one path. */
export const FILE_OPERATIONS: [name: string, ask: (files: WorkspaceFiles, path: string) => Promise<Answer>][] = [
  ['read', (files, path) => files.read(path)],
  ['load', (files, path) => files.load(path, 1_000)],
  ['list', (files, path) => files.list(path)],
  ['write', (files, path) => files.write(path, 'written\n')],
  ['edit', (files, path) => files.edit(path, { type: 'replace', find: 'a', replace: 'b', all: true })],
  ['search', (files, path) => files.search({ pattern: 'secret', path } satisfies FileSearchQuery)],
]
