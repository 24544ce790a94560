import assert from 'node:assert/strict'
import { accessSync, constants, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { WorkspaceError } from '../../src/ports/workspaces.ts'
import { missingProgram } from '../harness/programs.ts'
import { openWorkspacesFixture } from './fixture-workspaces.ts'

const SYSTEM = '/usr/local/share'

test('a home inside a system folder is refused, by any path', {
  skip: missingProgram('bwrap') || isUnwritable(),
}, async (context) => {
  const home = mkdtempSync(join(SYSTEM, 'holdfast-home-'))
  const folder = join(home, 'workspaces')
  for (const named of [folder, join(aliasOf(home), 'workspaces')]) {
    const fixture = openWorkspacesFixture(context, { folder: named })
    await assert.rejects(fixture.open(), (fault) => {
      assert.ok(fault instanceof WorkspaceError && fault.fault === 'missing-sandbox', String(fault))
      assert.match(fault.message, /cannot be stored in \/usr.*HOLDFAST_HOME/)
      return true
    })
  }
  context.after(() => rmSync(home, { recursive: true, force: true }))

  function aliasOf(place: string): string {
    const elsewhere = openWorkspacesFixture(context).folder
    symlinkSync(place, join(elsewhere, 'alias'))
    return join(elsewhere, 'alias')
  }
})

function isUnwritable(): string | false {
  try {
    accessSync(SYSTEM, constants.W_OK)
    return false
  } catch {
    return `only who may write to ${SYSTEM} can put a home there`
  }
}
