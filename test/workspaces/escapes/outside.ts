import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Containment } from '../../../src/ports/workspaces.ts'
import { openWorkspacesFixture, type WorkspacesFixture } from '../fixture-workspaces.ts'
import { isRoot, type Outside, type Probe } from './probe.ts'

/** What exists on the machine, for a workspace with or without a sandbox. */
export type Planted = Omit<Outside, 'neighbor' | 'ownSocket' | 'node' | 'watcher'>

/** A server's home, servers on every kind of address, and a process; each reveals the canary. */
export async function plantOutside(
  context: TestContext,
  containment: Containment,
): Promise<{ planted: Planted; fixture: WorkspacesFixture }> {
  const canary = `canary-${randomInt(1e9)}`
  const home = mkdtempSync(join(tmpdir(), 'holdfast-escape-'))
  // Registered first: cleanup finds the processes by this folder.
  const fixture = openWorkspacesFixture(context, { folder: join(home, 'workspaces'), sandbox: { containment } })
  context.after(() => rmSync(home, { recursive: true, force: true }))
  mkdirSync(join(home, '.ssh'))
  for (const name of ['secret.key', 'holdfast.db', 'config.yaml', '.ssh/id_ed25519'])
    writeFileSync(join(home, name), `${canary}\n`)
  const abstract = `holdfast-${canary}`
  const path = join(home, 'host.sock')
  const server = await serving(context, canary, { port: 0, host: '127.0.0.1' })
  await serving(context, canary, { path: `\0${abstract}` })
  await serving(context, canary, { path })
  const { port } = server.address() as AddressInfo
  const planted = { canary, home, listeners: { port, abstract, path }, bystander: bystander(context, canary) }
  return { planted, fixture }
}

async function serving(context: TestContext, words: string, place: ListenOptions): Promise<Server> {
  const server = createServer((socket) => socket.on('error', () => {}).end(`${words}\n`))
  await new Promise<void>((resolve) => server.listen(place, resolve))
  context.after(() => server.close())
  return server
}

function bystander(context: TestContext, canary: string): number {
  const child = spawn('sleep', ['1000'], { argv0: canary, env: { PATH: process.env.PATH, CANARY_KEY: canary } })
  context.after(() => child.kill('SIGKILL'))
  assert.ok(child.pid)
  return child.pid
}

/** Whether the probe succeeds without a sandbox. */
export const isOpen = ({ open }: Probe): boolean => open === 'any-user' || (open === 'root' && isRoot)
