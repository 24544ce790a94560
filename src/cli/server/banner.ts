import type { Agent } from '../../core/agent.ts'
import { listAgents } from '../../service/agents/agents.ts'
import { listProviders } from '../../service/providers/providers.ts'
import type { ServiceContext } from '../../service/service-context.ts'
import type { CliContext, OpenedApp, ServerHandle } from '../cli-context.ts'
import { commandLine } from '../program-name.ts'
import { lastBackupText } from '../render/last-backup.ts'
import { limitsText } from '../render/workspace.ts'
import { safeName } from '../terminal.ts'

/** The start screen of the server. */
export async function bannerLines(
  { url, key, signInLink }: Pick<ServerHandle, 'url' | 'key' | 'signInLink'>,
  { context, settings }: OpenedApp,
  { environment, out }: CliContext,
): Promise<string[]> {
  const { bold, dim } = out.look.paint
  const [agents, providers, sandbox, lastBackup] = await Promise.all([
    listAgents(context),
    listProviders(context),
    sandboxText(context),
    context.backups.last(),
  ])
  const ready = providers.filter(({ state }) => state === 'ready').map(({ name }) => name)
  const where = key.file ?? 'the environment (HOLDFAST_API_KEY)'
  const rows = [
    ['Home', settings.home],
    ['Agents', agentsText(agents)],
    ['Models', ['scripted (built in, needs no API key)', ...ready].join(', ')],
    ...(sandbox ? [['Sandbox', sandbox] as const] : []),
    ...(lastBackup ? [['Backup', lastBackupText(lastBackup, context.deps.clock.now())] as const] : []),
    ['Key', key.isNew ? `${key.key} ${dim(`(shown once; stored in ${where})`)}` : `in ${where}`],
    ['Console', consoleText(url, key.isNew ? signInLink() : undefined, dim)],
    ['API', `${url}/docs ${dim('for people')}, ${url}/openapi.json ${dim('for programs')}`],
  ] as const
  return [
    `${bold(`Holdfast listens on ${url}`)} ${dim('(Ctrl-C stops it)')}`,
    ...rows.map(([what, value]) => `  ${what.padEnd(8)}${value}`),
    '',
    'Try it:',
    `  ${curlCommand({ url, file: key.file, agent: agents.at(-1), model: context.defaults.model })}`,
    `  ${chatCommand(environment)}   ${dim('in another terminal; connects to this server')}`,
    '',
  ]
}

/** A fresh home has a link that signs in, because its key was never seen before. */
const consoleText = (url: string, link: string | undefined, dim: (text: string) => string): string =>
  link === undefined
    ? `${url}/ ${dim(`(sign in with the key, or with ${commandLine('console')})`)}`
    : `${url}${link} ${dim('(signs in once, within ten minutes)')}`

/** Whether workspaces can run on this machine; a missing program is reported at the start, not at the first use. */
async function sandboxText({ workspaces }: Pick<ServiceContext, 'workspaces'>): Promise<string | undefined> {
  const checked = await workspaces?.check()
  if (!checked) return undefined
  const { containment, fault, kernel = [] } = checked
  if (fault !== undefined) return `none: ${fault}`
  return containment === 'local'
    ? 'none (local): every command needs approval'
    : `${containment} works. ${limitsText(kernel)}`
}

const SHOWN_AGENTS = 5

function agentsText(agents: readonly Agent[]): string {
  if (agents.length === 0) return 'none yet'
  const names = agents.slice(0, SHOWN_AGENTS).map(({ name }) => safeName(name))
  return `${names.join(', ')}${agents.length > SHOWN_AGENTS ? ` and ${agents.length - SHOWN_AGENTS} more` : ''}`
}

type CurlOptions = { url: string; file: string | undefined; agent: Agent | undefined; model: string | undefined }

/** Works as it is when pasted: sends a message to the oldest agent, or creates the first one. */
function curlCommand({ url, file, agent, model }: CurlOptions): string {
  const [path, body] = agent
    ? [`agents/${agent.id}/messages`, { input: 'What time is it?', streaming: true }]
    : ['agents/', { name: 'assistant', model, tools: ['current_time', 'slow_count'] }]
  const shown = file ? `$(cat ${quoted(file)})` : '$HOLDFAST_API_KEY'
  const headers = `-H "Authorization: Bearer ${shown}" -H "Content-Type: application/json"`
  return `curl -sN ${url}/v1/${path} ${headers} -d ${quoted(JSON.stringify(body))}`
}

const chatCommand = ({ HOLDFAST_HOME: home }: CliContext['environment']): string =>
  `${home ? `HOLDFAST_HOME=${quoted(home)} ` : ''}${commandLine('chat')}`

/** Quotes the text as one shell word. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
