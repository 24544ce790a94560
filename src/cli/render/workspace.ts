import type { KernelLimit, LimitName, ListeningPort, ProcessEnding, ProcessState } from '../../ports/workspaces.ts'
import { timeJson } from '../run-json.ts'
import { type Look, safeName, safeText, shortened } from '../terminal.ts'
import type { ShownWorkspace } from '../workspace-verbs.ts'
import { ageText, count } from './run.ts'

const MEGABYTE = 1024 * 1024

/** One workspace on one line: conversation, state, agent and usage. */
export function workspaceLine({ agent, state }: ShownWorkspace, { paint }: Look): string {
  const { conversationId, status, usage, processes = [] } = state
  const running = processes.filter(({ ending }) => ending === undefined).length
  const mark = status === 'awake' ? paint.green(status.padEnd(6)) : paint.dim(status.padEnd(6))
  const runs = running === 0 ? 'no processes' : `${running} running`
  const use = usage ? `${runs}, ${megabytes(usage.diskBytes)} on disk` : runs
  return `${conversationId}  ${mark} ${paint.bold(safeName(agent.name))}  ${paint.dim(use)}`
}

/** Which limits hold at every instant on this machine, and which are looked at. */
export function limitsText(kernel: readonly KernelLimit[]): string {
  if (kernel.length === 0) return 'Its limits are checked ten times a second: no cgroup is writable here.'
  const checked = ['memory', 'processes'].filter((one) => !kernel.includes(one as KernelLimit))
  return `The kernel limits ${listText(kernel)} (cgroup); ${listText([...checked, 'disk'])} ${checked.length > 0 ? 'are' : 'is'} checked at intervals.`
}

const listText = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

/** A workspace with its limits and processes. */
export function workspaceLines({ agent, state }: ShownWorkspace, now: number, look: Look): string[] {
  const { conversationId, status, containment, folder, createdAt, usage, quota, processes = [], ports = [] } = state
  const rows = [
    ['state', `${status}, ${containment === 'local' ? look.paint.yellow('without a sandbox') : 'in a sandbox'}`],
    ['disk', `${megabytes(usage?.diskBytes ?? 0)} of ${megabytes(quota.diskBytes)}`],
    ['memory', `${megabytes(usage?.memoryBytes ?? 0)} of ${megabytes(quota.memoryBytes)}`],
    ['processes', `${usage?.processes ?? 0} of ${quota.processes}`],
    ...(ports.length === 0 ? [] : [['ports', ports.map(portText).join(', ')]]),
    ['created', `${ageText(now - createdAt)} ago`],
    ...(folder === undefined ? [] : [['folder', folder]]),
  ] as [string, string][]
  return [
    `${look.paint.bold(safeName(agent.name))} (${conversationId})`,
    ...rows.map(([what, value]) => `  ${what.padEnd(11)}${value}`),
    ...(processes.length === 0 ? ['  No processes yet.'] : ['']),
    ...processes.map((process) => `  ${processLine(process, now, look)}`),
  ]
}

const portText = ({ port, processId }: ListeningPort): string =>
  processId === null ? `${port}` : `${port} (${processId})`

const COMMAND_WIDTH = 60

function processLine(process: ProcessState, now: number, { paint }: Look): string {
  const { processId, ending, startedAt, command, outputBytes } = process
  const how = ending ? endingText(ending) : `running for ${ageText(now - startedAt)}`
  const paintedHow = ending ? paint.dim(how.padEnd(24)) : paint.green(how.padEnd(24))
  const words = shortened(safeText(command).replaceAll('\n', ' '), COMMAND_WIDTH)
  return `${paint.bold(processId)}  ${paintedHow} ${words} ${paint.dim(`(${count(outputBytes, 'byte')} of output)`)}`
}

const LIMIT_TEXT: Record<LimitName, string> = { processes: 'too many processes', memory: 'memory', disk: 'disk' }

export function endingText(ending: ProcessEnding): string {
  switch (ending.type) {
    case 'exited':
      return `exited with ${ending.code}`
    case 'killed':
      return ending.why ? `ended (${ending.why})` : `ended by ${ending.signal}`
    case 'over-limit':
      return `over its limit: ${LIMIT_TEXT[ending.limit]}`
    case 'lost':
      return 'lost with its sandbox'
  }
}

export const workspaceJson = ({ agent, state }: ShownWorkspace) => ({
  conversation_id: state.conversationId,
  agent_id: agent.id,
  agent_name: agent.name,
  status: state.status,
  containment: state.containment,
  folder: state.folder,
  created_at: timeJson(state.createdAt),
  quota: amountsJson(state.quota),
  usage: state.usage ? amountsJson(state.usage) : null,
  ports: state.ports?.map(({ port, processId }) => ({ port, process_id: processId })) ?? null,
  processes: state.processes?.map(processJson) ?? null,
})

const amountsJson = (amounts: { diskBytes: number; memoryBytes: number; processes: number }) => ({
  disk_bytes: amounts.diskBytes,
  memory_bytes: amounts.memoryBytes,
  processes: amounts.processes,
})

export const processJson = (process: ProcessState) => ({
  id: process.processId,
  command: process.command,
  run_id: process.runId,
  background: process.background,
  started_at: timeJson(process.startedAt),
  ended_at: process.endedAt === undefined ? null : timeJson(process.endedAt),
  ending: process.ending ?? null,
  output_bytes: process.outputBytes,
})

const megabytes = (bytes: number): string => `${(bytes / MEGABYTE).toFixed(bytes < 10 * MEGABYTE ? 1 : 0)} MB`
