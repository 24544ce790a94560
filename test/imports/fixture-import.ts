import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type App, openApp } from '../../src/app.ts'
import type { ImportOptions, ImportOrigin, ImportTally } from '../../src/core/import.ts'
import { type ImportReport, showImport, startImport } from '../../src/service/imports/imports.ts'
import { newJumpingClock } from '../harness/jumping-clock.ts'
import { type OldServerFixture, type OldServerOptions, startOldServer } from '../harness/old-server/old-server.ts'

export type ImportHome = {
  home: string
  readonly app: App
  /** Starts an import and waits until it is over. */
  importFrom(origin: ImportOrigin | string, options?: ImportOptions, key?: string): Promise<ImportReport>
  /** Closes the process and opens the next one on the same home. */
  restart(): Promise<void>
}

/** A home as the server has it, in this process. */
export async function openImportHome(
  context: TestContext,
  environment: Record<string, string> = {},
): Promise<ImportHome> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-import-'))
  const open = () =>
    openApp({
      environment: {
        HOLDFAST_HOME: home,
        OPENAI_API_KEY: 'sk-test',
        // Nothing listens there.
        OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
        HOLDFAST_EMBEDDING: 'openai/tiny',
        ...environment,
      },
      role: 'owner',
      // Waits between retries take no time.
      clock: newJumpingClock(),
      report: () => undefined,
    })
  let app = await open()
  context.after(async () => {
    await app.close()
    rmSync(home, { recursive: true, force: true })
  })
  return {
    home,
    get app() {
      return app
    },
    async importFrom(origin, options = {}, key = '') {
      const from: ImportOrigin = typeof origin === 'string' ? { type: 'server', url: origin } : origin
      const started = await startImport({ origin: from, options, key }, app.context)
      return waitForImport(app, started)
    },
    async restart() {
      await app.close()
      app = await open()
    },
  }
}

export async function waitForImport(app: App, { record }: ImportReport): Promise<ImportReport> {
  for (;;) {
    const now = await showImport(record.id, app.context)
    if (now.record.state !== 'running') return now
    await sleep(20)
  }
}

export async function oldServerFor(context: TestContext, options?: OldServerOptions): Promise<OldServerFixture> {
  const server = await startOldServer(options)
  context.after(() => server.close())
  return server
}

export const tallyOf = ({ tallies }: ImportReport, kind: ImportTally['kind']): ImportTally | undefined =>
  tallies.find((tally) => tally.kind === kind)
