import { createServer } from 'node:net'
import { join } from 'node:path'
import type { SupervisorConfig } from '../protocol.ts'
import { newEgressRelay } from './egress-relay.ts'
import { newFileHandler } from './files/file-handler.ts'
import { memoryKills } from './kernel-memory.ts'
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

/** The supervisor of one workspace. It runs inside the sandbox and outlives the server that started it. */
const config = JSON.parse(process.argv[2] ?? '{}') as SupervisorConfig
const isSandboxed = config.containment === 'bubblewrap'
if (isSandboxed) requireSandbox()
process.umask(0o022)
// Exceeding the file size limit fails that write; without a handler the signal would end the supervisor.
process.on('SIGXFSZ', () => {})
// Log an unexpected error and continue: exiting would end every process of the workspace.
for (const kind of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(kind, (fault) => spool.logError(fault))

const spool = newSpool(config.spool)
const pipes = newPipes(config.spool)
const terminal = newTerminal(config.spool, { cwd: config.folder, environment: config.environment })
const tags = newTags()
const processes = newProcesses({
  spool,
  pipes,
  terminal,
  tags,
  onStart: () => limits.watch(),
  onProgramEnd: (processId) => void killer.end(new Set([processId])),
  memoryKills,
})
const owners = newProcessOwners({
  isSandboxed,
  roots: () => processes.roots(),
  isOwnMark: (mark) => processes.find(mark) !== undefined,
  tagOf: tags.ownerOf,
})
const killer = newKiller(owners, { isSandboxed })
const limits = newLimits({ config, processes, owners, killer, spool, endSandbox })
const files = newFileHandler(config.folder, {
  journal: join(config.spool, 'writes'),
  spaceLeft: () => limits.spaceLeft(),
})
const relay = newEgressRelay(config.egress)
const handler = newRequestHandler({
  config,
  relay,
  processes,
  owners,
  killer,
  limits,
  files,
  spool,
  exit,
})

// A sandbox ends with its first process; without one, processes of a former supervisor may still run.
if (!isSandboxed) killer.killNow(() => true)
if (config.egress?.forCommands) void relay.open()
void pipes.prepare().catch(() => {})

const server = createServer((socket) => serveClient(socket, { handler, onClose: () => handler.onDisconnect() }))
server.on('connection', () => handler.onConnect())
server.on('error', () => process.exit(1))
server.listen({ fd: config.socket })
handler.onDisconnect()

/** The sandbox's first process ends with this one, and the sandbox with it. Records the offender's ending first. */
function endSandbox(): void {
  for (const { plannedEnding, start } of processes.running())
    if (plannedEnding?.type === 'over-limit')
      spool.recordEnd(start.processId, { endedAt: Date.now(), ending: plannedEnding, dropped: 0 })
  exit()
}

function exit(): never {
  process.exit(0)
}
