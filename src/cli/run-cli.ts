import { CommanderError } from 'commander'
import { defined } from '../core/defined.ts'
import { PLATFORM_NAMES, titleOf } from '../core/gateway/platforms.ts'
import { DEFAULT_HOST, DEFAULT_PORT } from '../core/listening.ts'
import { Problem } from '../core/problem.ts'
import type { CliContext } from './cli-context.ts'
import type { CommandDeps } from './command-deps.ts'
import { SIMULATE_HELP } from './commands/simulate-help.ts'
import { USAGE } from './exit-codes.ts'
import { completeTree, everyCommand, HoldfastCommand } from './holdfast-command.ts'
import { printError } from './print-error.ts'
import { commandLine } from './program-name.ts'
import { newScreen } from './terminal.ts'
import { addKeys, addPeople } from './tree/access.ts'
import { addAgents } from './tree/agents.ts'
import { addBackups } from './tree/backup.ts'
import { addConversations } from './tree/conversations.ts'
import { addGateway } from './tree/gateway.ts'
import { addHooks } from './tree/hooks.ts'
import { addImports } from './tree/imports.ts'
import { addMemory } from './tree/memory.ts'
import { addAuth, addModels, addProviders } from './tree/providers.ts'
import { addSchedules } from './tree/schedules.ts'
import { addMcp, addTools } from './tree/tools.ts'
import { addWebhooks } from './tree/webhooks.ts'
import { usageText, wantsJson } from './usage-error.ts'
import { whenBusyOption } from './when-busy-option.ts'

/** Of the first simulated chat platform; each has its own. */
const FIRST_CHAT_PORT = 8285

type CliOptions = Omit<CliContext, 'out' | 'notes'>

/** Parses the command line, loads only the command it names, and resolves with the exit code. */
export async function runCli(argv: string[], options: CliOptions): Promise<number> {
  const { environment, version } = options
  const cli: CliContext = {
    ...options,
    out: newScreen(process.stdout, environment),
    notes: newScreen(process.stderr, environment),
  }
  const isJson = wantsJson(argv)
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedPipe)
  // Unhandled rejections also arrive here; they are printed like any other bug.
  process.on('uncaughtException', (fault) => process.exit(printError(fault, { ...cli, isJson })))
  let exit = 0
  const ends = (code: number) => {
    exit = code
  }
  const program = programFor({ cli, ends }).version(version, '-V, --version', 'Print the version.')
  for (const command of everyCommand(program))
    command.configureOutput({
      outputError: (text, write) => write(`holdfast: ${usageText(text, program, argv)}`),
      ...defined({ writeErr: isJson ? () => undefined : undefined }),
    })
  try {
    await program.parseAsync(argv.length > 0 ? argv : ['--help'], { from: 'user' })
    return exit
  } catch (fault) {
    if (fault instanceof CommanderError) {
      if (fault.exitCode === 0) return 0
      if (isJson) printError(new Problem('invalid', usageText(fault.message, program, argv)), { ...cli, isJson })
      return USAGE
    }
    return printError(fault, { ...cli, isJson })
  }
}

/** The whole tree of commands. */
export function programFor({ cli, ends }: CommandDeps): HoldfastCommand {
  const environmentValue = (variable: string) => cli.environment[variable]?.trim() || undefined
  const program = new HoldfastCommand('holdfast')
    .description('A server for long-lived AI agents: nothing is lost, stuck, done twice or hidden.')
    .helpOption('-h, --help', 'Show this help.')
    .helpCommand('help [command]', 'Show the help of a command.')
    .exitOverride()
    .showHelpAfterError(`Run \`${commandLine('--help')}\` for the list of commands.`)

  program
    .command('chat')
    .description('Chat with an agent. Continues the last conversation.')
    .json('Print each turn of piped input as one line of JSON.')
    .option('--conversation <id>', 'Conversation to continue: id or its beginning.')
    .example('chat', 'chat --agent ada --new')
    .option('--agent <name>', 'Agent name or id.')
    .option('--new', 'Start a new conversation.')
    .addOption(whenBusyOption('What messages do while a turn runs. Default: the setting of the agent, or queue.'))
    .action(async (flags) =>
      ends(
        flags.json
          ? await (await import('./commands/chat-lines.ts')).chatLines(flags, cli)
          : await (await import('./commands/chat.ts')).chat(flags, cli),
      ),
    )

  program
    .command('run')
    .description(
      'Run one turn. The final answer goes to stdout, progress to stderr; the exit code tells why the turn ended.',
    )
    .argument('<message>', 'Message to send, or - to read it from stdin.')
    .option('--agent <name>', 'Agent name or id.')
    .json('Print one JSON object when the turn ends.')
    .example('run "What time is it?"', 'run --agent ada - < question.txt')
    .option('--deny', 'Deny calls that need approval instead of waiting for an answer.')
    .option('--no-stream', 'Print the answer when it is complete.')
    .option('--request-id <id>', 'Repeated commands with the same id and message are one turn.')
    .addOption(whenBusyOption('What the message does while a turn runs. Default: the setting of the agent, or queue.'))
    .action(async (message, flags) => ends(await (await import('./commands/run.ts')).run(message, flags, cli)))

  program
    .command('serve')
    .description('Serve this home over HTTP for the official client.')
    .example('serve --port 8283')
    .option(
      '--host <address>',
      'Address to listen on. Any address but loopback needs an API key of at least 32 characters.',
      environmentValue('HOST') ?? DEFAULT_HOST,
    )
    .option(
      '--port <number>',
      'Port to listen on. 0 picks a free port.',
      environmentValue('PORT') ?? String(DEFAULT_PORT),
    )
    .option('--access-log', 'Log each request as one line of JSON on stderr.')
    .action(async (flags) => ends(await (await import('./commands/serve.ts')).serve(flags, cli)))

  program
    .command('console')
    .description('Print an address that signs a browser of this machine in to the console of the running server.')
    .example('console')
    .action(async (flags) => (await import('./commands/console.ts')).openConsole(flags, cli))

  const deps = { cli, ends }
  addAgents(program, deps)
  addConversations(program, deps)
  addMemory(program, deps)
  addTools(program, deps)
  addMcp(program, deps)
  addSchedules(program, { cli })
  addWebhooks(program, { cli })
  addHooks(program, { cli })
  addRuns(program, cli)
  addApprovals(program, cli)
  addWorkspaces(program, deps)
  addModels(program, deps)
  addProviders(program, deps)
  addAuth(program, deps)
  addKeys(program, deps)
  addPeople(program, deps)
  addBackups(program, deps)
  addImports(program, deps)
  addGateway(program, deps)

  program
    .command('doctor')
    .description('Check the stored data against every invariant.')
    .example('doctor', 'doctor --repair')
    .option('--repair', 'Repair what can be repaired without guessing, and report each repair. Stop the server first.')
    .action(async (flags) => ends(await (await import('./commands/doctor.ts')).doctor(flags, cli)))

  program
    .command('demo')
    .description(
      'Show Holdfast in a minute, in a temporary home: a tool, an approval, a cancel, recovery from kill -9.',
    )
    .option('--fast', 'Skip the pauses for reading.')
    .example('demo --fast')
    .action(async (flags) => ends(await (await import('./commands/demo.ts')).demo(flags, cli)))

  const simulate = program
    .command('simulate')
    .description('Simulate model providers on this machine, with scripted answers and faults.')
    .example('simulate --port 8284')
    .option('--port <number>', 'Loopback port to listen on. 0 picks a free port.', '8284')
    .option('--script <file>', 'JSON file with the answers. The format is described below.')
    .option(
      '--key <name=state...>',
      'Accept only known keys. State: valid, revoked, expired, out-of-credit, limited or limited:SECONDS.',
    )
    .option('--verbose', 'Also print the body of each request.')
    .addHelpText('after', SIMULATE_HELP)
    .action(async (flags) => ends(await (await import('./commands/simulate.ts')).simulate(flags, cli)))
  for (const [index, platform] of PLATFORM_NAMES.entries()) {
    const title = titleOf(platform)
    const port = String(FIRST_CHAT_PORT + index)
    simulate
      .command(platform)
      .description(`Simulate ${title} on this machine: a page, and this terminal, in which to write to a bot.`)
      .example(`simulate ${platform} --port ${port}`)
      .option('--port <number>', 'Loopback port to listen on. 0 picks a free port.', port)
      .action(async (flags) => {
        // The parser gives an option that both commands have to the first one.
        const chosen = simulate.getOptionValueSource('port') === 'cli' ? simulate.opts().port : flags.port
        const { simulateChat } = await import('./commands/simulate-chat.ts')
        ends(await simulateChat(platform, { ...flags, port: chosen }, cli))
      })
  }

  program
    .command('completion')
    .description('Print a completion script for a shell.')
    .argument('<shell>', 'bash, zsh or fish.')
    .example('completion bash >> ~/.bashrc')
    .action(async (shell, flags) =>
      (await import('./commands/completion.ts')).completion(shell, { program, flags, cli }),
    )
  program
    .command('__complete', { hidden: true })
    .argument('[word...]')
    .allowUnknownOption()
    .action(async (words) => (await import('./commands/completion.ts')).complete(words, { program, cli }))

  return completeTree(program)
}

function addRuns(program: HoldfastCommand, cli: CliContext): void {
  const load = () => import('./commands/runs.ts')
  const runs = program.command('runs').description('List, show and cancel runs.')
  runs
    .command('list', { isDefault: true })
    .description('List runs, newest first.')
    .example('runs', 'runs list --agent ada --limit 50')
    .option('--agent <name>', 'Only runs of this agent (name or id).')
    .option('--limit <number>', 'Maximum number of runs, 1 to 1000.', '20')
    .action(async (flags) => (await load()).listAll(flags, cli))
  runs
    .command('show')
    .description('Show everything that happened in a run.')
    .example('runs show run-3f2a91bc')
    .argument('<run>', 'Run id or its beginning.')
    .action(async (run, flags) => (await load()).show(run, flags, cli))
  runs
    .command('cancel')
    .description('Cancel a run.')
    .example('runs cancel run-3f2a91bc')
    .argument('<run>', 'Run id or its beginning.')
    .action(async (run, flags) => (await load()).cancel(run, flags, cli))
}

function addApprovals(program: HoldfastCommand, cli: CliContext): void {
  const load = () => import('./commands/approvals.ts')
  const approvals = program.command('approvals').description('List pending approvals and answer them.')
  approvals
    .command('list', { isDefault: true })
    .description('List pending approvals.')
    .example('approvals')
    .action(async (flags) => (await load()).listAll(flags, cli))
  approvals
    .command('approve')
    .description('Approve the pending calls of a run.')
    .example('approvals approve run-3f2a91bc')
    .argument('<run>', 'Run id or its beginning.')
    .argument('[call...]', 'Ids of the calls to approve; the others are denied. Default: all.')
    .action(async (run, calls, flags) => (await load()).approve(run, calls, { flags, cli }))
  approvals
    .command('deny')
    .description('Deny the pending calls of a run.')
    .example('approvals deny run-3f2a91bc --reason "Not today."')
    .argument('<run>', 'Run id or its beginning.')
    .option('--reason <text>', 'Reason to give to the agent.')
    .action(async (run, flags) => (await load()).deny(run, flags, cli))
}

function addWorkspaces(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('./commands/workspaces.ts')
  const which = ['<workspace>', 'Conversation id, or agent name for its last conversation.'] as const
  const workspaces = program
    .command('workspaces')
    .description('Manage workspaces: the files and processes of conversations.')
  workspaces
    .command('list', { isDefault: true })
    .description('List workspaces.')
    .example('workspaces')
    .action(async (flags) => (await load()).listAll(flags, cli))
  workspaces
    .command('show')
    .description('Show a workspace and its processes.')
    .example('workspaces show ada')
    .argument(...which)
    .action(async (workspace, flags) => (await load()).show(workspace, flags, cli))
  workspaces
    .command('logs')
    .description('Print the output of a process.')
    .example('workspaces logs ada proc-1 --last 4096')
    .argument(...which)
    .argument('<process>', 'Process id.')
    .option('--last <bytes>', 'Only the last bytes, 1 to 1048576.')
    .action(async (workspace, process, flags) => (await load()).logs(workspace, process, { flags, cli }))
  workspaces
    .command('open')
    .description('Open a page that a process serves: print an address for a browser on this machine, until Ctrl-C.')
    .example('workspaces open ada --port 8080')
    .argument(...which)
    .option('--port <number>', 'Port inside the workspace. Default: the only open one.')
    .option('--minutes <number>', 'Minutes until the page closes by itself, 1 to 1440.', '60')
    .action(async (workspace, flags) => (await load()).open(workspace, flags, cli))
  workspaces
    .command('kill')
    .description('Kill a process and everything it started.')
    .example('workspaces kill ada proc-1')
    .argument(...which)
    .argument('<process>', 'Process id.')
    .action(async (workspace, process, flags) => (await load()).kill(workspace, process, { ...flags, cli }))
  workspaces
    .command('remove')
    .description('Remove a workspace: end its processes and delete its files. The conversation stays.')
    .example('workspaces remove ada --yes')
    .argument(...which)
    .option('--yes', 'Do not ask for confirmation.')
    .action(async (workspace, flags) => ends(await (await load()).remove(workspace, flags, cli)))
}

/** `holdfast runs | head` closes the pipe early. That is not an error, and the command continues. */
function ignoreClosedPipe(fault: NodeJS.ErrnoException): void {
  if (fault.code !== 'EPIPE') throw fault
}
