import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const HOME_KEY = 'test-key-that-is-long-enough-for-anybody'

export type ServerProcess = { home: string; port: number; stop(): Promise<void> }

/** `holdfast serve` of any checkout on a new home. Of the environment it gets only PATH. */
export async function startServerProcess(command: string): Promise<ServerProcess> {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-recorded-'))
  const child = spawn(process.execPath, [command, 'serve', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      TZ: 'UTC',
      HOLDFAST_HOME: home,
      HOLDFAST_API_KEY: HOME_KEY,
      // Without a sandbox, so that machines with and without bubblewrap give the same answers.
      HOLDFAST_SANDBOX: 'local',
      HOLDFAST_LIMIT_BODY_BYTES: '100000',
      HOLDFAST_LIMIT_REFUSALS_PER_MINUTE: '1000000',
      HOLDFAST_LIMIT_REQUESTS_PER_SECOND: '0',
    },
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let output = ''
  const port = await new Promise<number>((resolve, reject) => {
    const read = (text: string) => {
      output += text
      const found = /127\.0\.0\.1:(\d+)[\s\S]*Try it:/.exec(output)?.[1]
      if (found) resolve(Number(found))
    }
    child.stdout.setEncoding('utf8').on('data', read)
    child.stderr.setEncoding('utf8').on('data', read)
    child.once('error', reject)
    void ended.then(() => reject(new Error(`${command} ended before it served: ${output}`)))
  })
  return {
    home,
    port,
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(home, { recursive: true, force: true })
    },
  }
}
