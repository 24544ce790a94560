import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('serve-freezing.ts', import.meta.url))
const KEY = 'test-key-that-is-long-enough-for-anybody'
const SECONDS = 2

/** A real server process whose model `freezing/model` can hold the event loop. */
export type Served = {
  child: ChildProcess
  output(): string
  ended: Promise<NodeJS.Signals | null>
  fetch(method: string, path: string, body?: object): Promise<never>
}

export function newHome(context: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-watchdog-'))
  context.after(() => rmSync(home, { recursive: true, force: true }))
  return home
}

/** Resolves when the server listens, or has ended before. */
export async function start(context: TestContext, home: string, seconds = SECONDS): Promise<Served> {
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--port', '0'], {
    env: {
      PATH: process.env.PATH,
      HOLDFAST_HOME: home,
      HOLDFAST_API_KEY: KEY,
      HOLDFAST_WATCHDOG_SECONDS: String(seconds),
    },
  })
  context.after(() => child.kill('SIGKILL'))
  let output = ''
  const ended = once(child, 'exit').then(([, signal]) => signal as NodeJS.Signals | null)
  const listening = new Promise<void>((resolve) => {
    const read = (text: Buffer) => {
      output += text
      if (output.includes('Try it:')) resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
  })
  await Promise.race([listening, ended])
  return {
    child,
    output: () => output,
    ended,
    async fetch(method, path, body) {
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0]
      const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
      const response = await fetch(`${url}${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
      return (await response.json()) as never
    },
  }
}

export const say = (content: string) => ({ messages: [{ role: 'user', content }] })

export async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
