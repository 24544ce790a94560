import { createServer } from 'node:net'
import { join } from 'node:path'
import type { SupervisorConfig } from '../protocol.ts'
import { startEgressRelay } from './egress-relay.ts'
import { newFileHandler } from './files/file-handler.ts'
import { newKiller } from './kill.ts'
import { newLimits } from './limits.ts'
import { newPipes } from './pipes.ts'
import { newProcessOwners } from './process-owners.ts'
import { newProcesses } from './processes.ts'
import { newRequestHandler } from './request-handler.ts'
import { requireSandbox } from './require-sandbox.ts'
import { serveClient } from './serve-client.ts'
import { newSpool } from './spool.ts'
import { newTags } from './tags.ts'
import { newTerminal } from './terminal.ts'

/** Keeps one workspace: runs inside its walls, and on when the server that started it is gone. */
const orders = JSON.parse(process.argv[2] ?? '{}') as SupervisorConfig
const isSandboxed = orders.containment === 'bubblewrap'
if (isSandboxed) requireSandbox()
process.umask(0o022)
// A file that would become larger than files may be is a fault of that write, not the end of everything that runs here.
process.on('SIGXFSZ', () => {})
// What it keeps is worth more than the certainty that nothing is wrong with it.
for (const kind of ['uncaughtException', 'unhandledRejection'] as const) process.on(kind, (fault) => spool.note(fault))

const spool = newSpool(orders.spool)
const pipes = newPipes(orders.spool)
const terminal = newTerminal(orders.spool, { cwd: orders.folder, environment: orders.environment })
const tags = newTags()
const processes = newProcesses({ spool, pipes, terminal, tags, onStart: () => limits.watch() })
const families = newProcessOwners({
  isSandboxed,
  roots: () => processes.roots(),
  isOurMark: (mark) => processes.find(mark) !== undefined,
  tagOf: tags.ownerOf,
})
const killer = newKiller(families, { isSandboxed })
const limits = newLimits({ config: orders, processes, owners: families, killer, endSandbox: endEverything })
const files = newFileHandler(orders.folder, {
  journal: join(orders.spool, 'writes'),
  spaceLeft: () => limits.spaceLeft(),
})
const desk = newRequestHandler({
  config: orders,
  processes,
  owners: families,
  killer,
  limits,
  files,
  spool,
  exit: leave,
})

// A namespace ends with its first process; without one, what ran in a former life may still run.
if (!isSandboxed) killer.killNow(() => true)
if (orders.egress) startEgressRelay(orders.egress)
void pipes.prepare().catch(() => {})

const server = createServer((socket) => serveClient(socket, { desk, onLeave: () => desk.clientLeft() }))
server.on('connection', () => desk.clientCame())
server.on('error', () => process.exit(1))
server.listen({ fd: orders.socket })
desk.clientLeft()

/** The first process ends with this one, and the namespace with that. What the offender did is written down before. */
function endEverything(): void {
  for (const { plannedEnding, start } of processes.running())
    if (plannedEnding?.type === 'over-limit')
      spool.end(start.processId, { endedAt: Date.now(), ending: plannedEnding, dropped: 0 })
  leave()
}

function leave(): never {
  process.exit(0)
}
