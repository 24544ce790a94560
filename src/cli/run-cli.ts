import { Command, CommanderError } from 'commander'
import { DEFAULT_HOST, DEFAULT_PORT } from '../core/listening.ts'
import { addAgents } from './agent-commands.ts'
import type { CliContext } from './cli-context.ts'
import { SIMULATE_HELP } from './commands/simulate-help.ts'
import { USAGE } from './exit-codes.ts'
import { JSON_OPTION } from './json-option.ts'
import { printError } from './print-error.ts'
import { newScreen } from './terminal.ts'

type CliOptions = Omit<CliContext, 'out' | 'notes'>

/** Parses the command line, loads only the command it names, and resolves with the exit code. */
export async function runCli(argv: string[], options: CliOptions): Promise<number> {
  const { environment, version } = options
  const cli: CliContext = {
    ...options,
    out: newScreen(process.stdout, environment),
    notes: newScreen(process.stderr, environment),
  }
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedPipe)
  // Unhandled rejections also arrive here; they are printed like any other bug.
  process.on('uncaughtException', (fault) => process.exit(printError(fault, cli)))
  let exit = 0
  const ends = (code: number) => {
    exit = code
  }
  try {
    await programFor(cli, ends)
      .version(version, '-V, --version', 'Print the version.')
      .parseAsync(argv.length > 0 ? argv : ['--help'], { from: 'user' })
    return exit
  } catch (fault) {
    if (fault instanceof CommanderError) return fault.exitCode === 0 ? 0 : USAGE
    return printError(fault, cli)
  }
}

function programFor(cli: CliContext, ends: (code: number) => void): Command {
  const environmentValue = (variable: string) => cli.environment[variable]?.trim() || undefined
  const program = new Command('holdfast')
    .description('A server for long-lived AI agents: nothing is lost, stuck, done twice or hidden.')
    .helpOption('-h, --help', 'Show this help.')
    .helpCommand('help [command]', 'Show the help of a command.')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'holdfast: ')) })
    .showHelpAfterError('Run `holdfast --help` for the list of commands.')

  program
    .command('chat')
    .description('Chat with an agent. Continues the last conversation.')
    .option('--agent <name>', 'Agent name or id.')
    .option('--new', 'Start a new conversation.')
    .action(async (flags) => ends(await (await import('./commands/chat.ts')).chat(flags, cli)))

  program
    .command('run')
    .description(
      'Run one turn. The final answer goes to stdout, progress to stderr; the exit code tells why the turn ended.',
    )
    .argument('<message>', 'Message to send, or - to read it from stdin.')
    .option('--agent <name>', 'Agent name or id.')
    .option('--json', 'Print one JSON object when the turn ends.')
    .option('--deny', 'Deny calls that need approval instead of waiting for an answer.')
    .option('--no-stream', 'Print the answer when it is complete.')
    .action(async (message, flags) => ends(await (await import('./commands/run.ts')).run(message, flags, cli)))

  program
    .command('serve')
    .description('Serve this home over HTTP for the official client.')
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

  addAgents(program, cli)
  addRuns(program, cli)
  addApprovals(program, cli)
  addWorkspaces(program, { cli, ends })
  addModels(program, { cli, ends })
  addProviders(program, { cli, ends })
  addAuth(program, { cli, ends })
  addKeys(program, cli)
  addPeople(program, cli)

  program
    .command('doctor')
    .description('Check the stored data against every invariant.')
    .option('--repair', 'Repair what can be repaired without guessing, and report each repair. Stop the server first.')
    .option(...JSON_OPTION)
    .action(async (flags) => ends(await (await import('./commands/doctor.ts')).doctor(flags, cli)))

  program
    .command('demo')
    .description(
      'Show Holdfast in a minute, in a temporary home: a tool, an approval, a cancel, recovery from kill -9.',
    )
    .option('--fast', 'Skip the pauses for reading.')
    .action(async (flags) => ends(await (await import('./commands/demo.ts')).demo(flags, cli)))

  program
    .command('simulate')
    .description('Simulate model providers on this machine, with scripted answers and faults.')
    .option('--port <number>', 'Loopback port to listen on. 0 picks a free port.', '8284')
    .option('--script <file>', 'JSON file with the answers. The format is described below.')
    .option(
      '--key <name=state...>',
      'Accept only known keys. State: valid, revoked, expired, out-of-credit, limited or limited:SECONDS.',
    )
    .option('--verbose', 'Also print the body of each request.')
    .addHelpText('after', SIMULATE_HELP)
    .action(async (flags) => ends(await (await import('./commands/simulate.ts')).simulate(flags, cli)))

  return program
}

function addRuns(program: Command, cli: CliContext): void {
  const load = () => import('./commands/runs.ts')
  const runs = program.command('runs').description('List, show and cancel runs.')
  runs
    .command('list', { isDefault: true })
    .description('List runs, newest first.')
    .option('--agent <name>', 'Only runs of this agent (name or id).')
    .option('--limit <number>', 'Maximum number of runs, 1 to 1000.', '20')
    .option(...JSON_OPTION)
    .action(async (flags) => (await load()).listAll(flags, cli))
  runs
    .command('show')
    .description('Show everything that happened in a run.')
    .argument('<run>', 'Run id.')
    .option(...JSON_OPTION)
    .action(async (run, flags) => (await load()).show(run, flags, cli))
  runs
    .command('cancel')
    .description('Cancel a run.')
    .argument('<run>', 'Run id.')
    .action(async (run) => (await load()).cancel(run, cli))
}

function addApprovals(program: Command, cli: CliContext): void {
  const load = () => import('./commands/approvals.ts')
  const approvals = program.command('approvals').description('List pending approvals and answer them.')
  approvals
    .command('list', { isDefault: true })
    .description('List pending approvals.')
    .option(...JSON_OPTION)
    .action(async (flags) => (await load()).listAll(flags, cli))
  approvals
    .command('approve')
    .description('Approve the pending calls of a run.')
    .argument('<run>', 'Run id.')
    .argument('[call...]', 'Ids of the calls to approve; the others are denied. Default: all.')
    .action(async (run, calls) => (await load()).approve(run, calls, cli))
  approvals
    .command('deny')
    .description('Deny the pending calls of a run.')
    .argument('<run>', 'Run id.')
    .option('--reason <text>', 'Reason to give to the agent.')
    .action(async (run, flags) => (await load()).deny(run, flags, cli))
}

type CommandDeps = { cli: CliContext; ends(code: number): void }

function addWorkspaces(program: Command, { cli, ends }: CommandDeps): void {
  const load = () => import('./commands/workspaces.ts')
  const which = ['<workspace>', 'Conversation id, or agent name for its last conversation.'] as const
  const workspaces = program
    .command('workspaces')
    .description('Manage workspaces: the files and processes of conversations.')
  workspaces
    .command('list', { isDefault: true })
    .description('List workspaces.')
    .option(...JSON_OPTION)
    .action(async (flags) => (await load()).listAll(flags, cli))
  workspaces
    .command('show')
    .description('Show a workspace and its processes.')
    .argument(...which)
    .option(...JSON_OPTION)
    .action(async (workspace, flags) => (await load()).show(workspace, flags, cli))
  workspaces
    .command('logs')
    .description('Print the output of a process.')
    .argument(...which)
    .argument('<process>', 'Process id.')
    .option('--last <bytes>', 'Only the last bytes, 1 to 1048576.')
    .action(async (workspace, process, flags) => (await load()).logs(workspace, process, { flags, cli }))
  workspaces
    .command('kill')
    .description('Kill a process and everything it started.')
    .argument(...which)
    .argument('<process>', 'Process id.')
    .option(...JSON_OPTION)
    .action(async (workspace, process, flags) => (await load()).kill(workspace, process, { ...flags, cli }))
  workspaces
    .command('remove')
    .description('Remove a workspace: end its processes and delete its files. The conversation stays.')
    .argument(...which)
    .option('--yes', 'Do not ask for confirmation.')
    .action(async (workspace, flags) => ends(await (await load()).remove(workspace, flags, cli)))
}

function addModels(program: Command, { cli, ends }: CommandDeps): void {
  program
    .command('models')
    .description('List models of the configured providers, with context windows, prices and the agents that use them.')
    .option('--provider <name>', 'Only this provider, with all of its models.')
    .option(...JSON_OPTION)
    .action(async (flags) => ends(await (await import('./commands/models.ts')).models(flags, cli)))
}

function addProviders(program: Command, { cli, ends }: CommandDeps): void {
  const load = () => import('./commands/providers.ts')
  const providers = program
    .command('providers')
    .description('List model providers and their state, test one, or end its cooldowns.')
  providers
    .command('list', { isDefault: true })
    .description('List providers and their state.')
    .option(...JSON_OPTION)
    .action(async (flags) => (await load()).listAll(flags, cli))
  providers
    .command('test')
    .description('Send one small request with the credential a turn would use. The provider may charge for it.')
    .argument('<provider>', 'Provider name.')
    .option('--model <name>', 'Model to use. Default: one that an agent uses, or the first the provider lists.')
    .option(...JSON_OPTION)
    .action(async (name, flags) => ends(await (await load()).test(name, flags, cli)))
  providers
    .command('clear')
    .description('End the cooldowns of a provider, so that the next attempt uses it.')
    .argument('<provider>', 'Provider name.')
    .option(...JSON_OPTION)
    .action(async (name, flags) => (await load()).clear(name, flags, cli))
}

function addAuth(program: Command, { cli, ends }: CommandDeps): void {
  const load = () => import('./commands/auth.ts')
  const auth = program
    .command('auth')
    .description('Manage keys and logins of providers. Works while a server runs on this home.')
  auth
    .command('list', { isDefault: true })
    .description('List stored credentials.')
    .option(...JSON_OPTION)
    .action(async (flags) => (await load()).listAll(flags, cli))
  auth
    .command('add')
    .description('Store a key, encrypted. Type it (hidden) or pipe it in; it is never an argument.')
    .argument('<provider>', 'Provider name.')
    .option('--label <name>', 'Label of the credential. Several credentials of a provider form a pool.')
    .option('--key-stdin', 'Read the key from stdin.')
    .option('--device', 'Sign in with a code in a browser, where the provider supports it.')
    .option('--token-stdin', 'Read the JSON response of an OAuth token endpoint from stdin.')
    .option('--token-url <url>', 'With --token-stdin: URL of the token endpoint that refreshes the tokens.')
    .option('--client-id <id>', 'With --token-stdin: OAuth client id for the refresh.')
    .option('--replace', 'Replace the secret of the credential with this label.')
    .action(async (name, flags) => ends(await (await load()).add(name, flags, cli)))
  auth
    .command('refresh')
    .description('Refresh one login, or all logins of a provider, now.')
    .argument('<which>', 'Provider, credential id or label.')
    .action(async (which) => ends(await (await load()).refresh(which, cli)))
  auth
    .command('remove')
    .description('Remove a credential.')
    .argument('<credential>', 'Credential id or label.')
    .option('--yes', 'Do not ask for confirmation.')
    .action(async (which, flags) => ends(await (await load()).remove(which, flags, cli)))
  auth
    .command('rotate-key')
    .description('Create a new encryption key for this home and encrypt every credential again.')
    .action(async () => (await load()).rotate(cli))
}

const ORGANIZATION_OPTION = [
  '--organization <name>',
  'Organization name or id. Default: the default organization.',
] as const

function addKeys(program: Command, cli: CliContext): void {
  const load = () => import('./commands/keys.ts')
  const keys = program.command('keys').description('Manage API keys of the server.')
  keys
    .command('list', { isDefault: true })
    .description('List API keys.')
    .option(...ORGANIZATION_OPTION)
    .option(...JSON_OPTION)
    .action(async (flags) => (await load()).listAll(flags, cli))
  keys
    .command('create')
    .description('Create an API key. It is shown once.')
    .argument('<name>', 'Name of the key.')
    .option('--scope <scope>', 'Scope of the key: read, agent or admin.', 'agent')
    .option('--user <id>', 'Id of the user the key belongs to.')
    .option('--days <number>', 'Days until the key expires. Default: never.')
    .option(...ORGANIZATION_OPTION)
    .option(...JSON_OPTION)
    .action(async (name, flags) => (await load()).create(name, flags, cli))
  keys
    .command('revoke')
    .description('Revoke a key. Its open connections close within a second.')
    .argument('<key>', 'Key id.')
    .option(...ORGANIZATION_OPTION)
    .action(async (id, flags) => (await load()).revoke(id, flags, cli))
}

function addPeople(program: Command, cli: CliContext): void {
  const load = () => import('./commands/people.ts')
  const organizations = program
    .command('organizations')
    .description('List and create organizations. An agent is visible only inside its organization.')
  organizations
    .command('list', { isDefault: true })
    .description('List organizations.')
    .option(...JSON_OPTION)
    .action(async (flags) => (await load()).listAllOrganizations(flags, cli))
  organizations
    .command('create')
    .description('Create an organization.')
    .argument('<name>', 'Name of the organization.')
    .action(async (name) => (await load()).createOrganizationCommand(name, cli))
  const users = program.command('users').description('List, create and remove users. A key can belong to a user.')
  users
    .command('list', { isDefault: true })
    .description('List users.')
    .option(...ORGANIZATION_OPTION)
    .option(...JSON_OPTION)
    .action(async (flags) => (await load()).listAllUsers(flags, cli))
  users
    .command('create')
    .description('Create a user.')
    .argument('<name>', 'Name of the user.')
    .option(...ORGANIZATION_OPTION)
    .action(async (name, flags) => (await load()).createUserCommand(name, flags, cli))
  users
    .command('remove')
    .description('Remove a user and revoke its keys.')
    .argument('<user>', 'User id.')
    .option(...ORGANIZATION_OPTION)
    .action(async (id, flags) => (await load()).removeUser(id, flags, cli))
  program
    .command('audit')
    .description('Show the audit log: who did what, when, from where and with what result.')
    .option('--limit <number>', 'Maximum number of entries, 1 to 10000.', '50')
    .option(...ORGANIZATION_OPTION)
    .option(...JSON_OPTION)
    .action(async (flags) => (await import('./commands/audit.ts')).audit(flags, cli))
  program
    .command('cache')
    .description('Show the conversation cache of the running server.')
    .option(...JSON_OPTION)
    .action(async (flags) => (await import('./commands/cache.ts')).cache(flags, cli))
}

/** `holdfast runs | head` closes the pipe early. That is not an error, and the command continues. */
function ignoreClosedPipe(fault: NodeJS.ErrnoException): void {
  if (fault.code !== 'EPIPE') throw fault
}
