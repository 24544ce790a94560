import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type CliProcess, holdfast, startServing } from '../cli/holdfast.ts'
import { KEY } from '../http/fixture-server-process.ts'

const ENVIRONMENT = { HOLDFAST_API_KEY: KEY }

/** A folder for one test with a home in it, and the files that the test writes beside it. */
export function newPlace(t: TestContext): { folder: string; home: string; file: string; restored: string } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-backup-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const home = join(folder, 'home')
  mkdirSync(home, { mode: 0o700 })
  return { folder, home, file: join(folder, 'backup.tar.gz'), restored: join(folder, 'restored') }
}

/** Runs a command that must succeed. */
export async function succeed(home: string, ...parameters: string[]): Promise<string> {
  const { code, stdout, stderr } = await holdfast(parameters, { home, environment: ENVIRONMENT })
  assert.equal(code, 0, stdout + stderr)
  return stdout
}

/** Runs a command that must be refused, and returns the sentence. */
export async function refused(home: string, ...parameters: string[]): Promise<string> {
  const { code, stderr } = await holdfast(parameters, { home, environment: ENVIRONMENT })
  assert.notEqual(code, 0)
  assert.doesNotMatch(stderr, /\bat .*:\d+|bug in Holdfast/)
  return stderr
}

export type BackedUpServer = CliProcess & {
  ask<T>(method: string, path: string, body?: object): Promise<T>
  /** Sends a text and waits for the end of the turn; resolves with the text of the answer. */
  say(agentId: string, text: string): Promise<string>
}

type WireMessage = { message_type: string; content?: string }

/** A real server process on this home. */
export async function serve(t: TestContext, home: string): Promise<BackedUpServer> {
  const server = await startServing(home, ENVIRONMENT)
  t.after(async () => {
    server.child.kill('SIGKILL')
    await server.ended
  })
  const { url } = JSON.parse(readFileSync(join(home, 'server.json'), 'utf8')) as { url: string }
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  async function ask<T>(method: string, path: string, body?: object): Promise<T> {
    const sent = body ? { body: JSON.stringify(body) } : {}
    const response = await fetch(`${url}${path}`, { method, headers, ...sent })
    const text = await response.text()
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text) as T
  }
  return {
    ...server,
    ask,
    async say(agentId, text) {
      const otid = randomUUID()
      const messages = [{ role: 'user', content: text, otid }]
      const answer = await ask<{ messages: WireMessage[] }>('POST', `/v1/agents/${agentId}/messages`, {
        messages,
        streaming: false,
      })
      return answer.messages.findLast((one) => one.message_type === 'assistant_message')?.content ?? ''
    },
  }
}

/** An agent of the scripted model, which writes and reads notes. */
export const newAgent = async ({ ask }: Pick<BackedUpServer, 'ask'>, name: string): Promise<string> =>
  (
    await ask<{ id: string }>('POST', '/v1/agents/', {
      name,
      model: 'scripted/friendly',
      tools: ['write_note', 'read_notes', 'current_time', 'shell', 'write_file'],
    })
  ).id
