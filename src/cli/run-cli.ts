import { Command, CommanderError } from 'commander'
import { DEFAULT_HOST, DEFAULT_PORT } from '../core/listening.ts'
import type { CliContext } from './cli-context.ts'
import { SIMULATE_HELP } from './commands/simulate-help.ts'
import { USAGE } from './exit-codes.ts'
import { printError } from './print-error.ts'
import { newScreen } from './terminal.ts'

type CliOptions = Omit<CliContext, 'out' | 'notes'>

/** The command line: parses, loads the one command that was asked for, and answers with the exit code. */
export async function runCli(argv: string[], options: CliOptions): Promise<number> {
  const { environment, version } = options
  const cli: CliContext = {
    ...options,
    out: newScreen(process.stdout, environment),
    notes: newScreen(process.stderr, environment),
  }
  for (const stream of [process.stdout, process.stderr]) stream.on('error', ignoreClosedPipe)
  // A promise nobody awaited is a bug like any other, and is told like one.
  process.on('uncaughtException', (fault) => process.exit(printError(fault, cli)))
  let exit = 0
  const ends = (code: number) => {
    exit = code
  }
  try {
    await programFor(cli, ends)
      .version(version)
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
    .description('Agents that stay alive: nothing is lost, stuck, done twice or hidden.')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'holdfast: ')) })
    .showHelpAfterError('`holdfast --help` lists what there is.')

  program
    .command('chat')
    .description('talk to an agent; goes on where you stopped')
    .option('--agent <name>', 'name or id of the agent')
    .option('--new', 'start a new conversation')
    .action(async (flags) => ends(await (await import('./commands/chat.ts')).chat(flags, cli)))

  program
    .command('run')
    .description('one turn: the answer on stdout, the rest on stderr, why it ended in the exit code')
    .argument('<message>', 'what to say, or - to read it from stdin')
    .option('--agent <name>', 'name or id of the agent')
    .option('--json', 'print one JSON object at the end instead')
    .option('--deny', 'decline calls that need approval instead of waiting for a person')
    .option('--no-stream', 'print the answer when it is complete')
    .action(async (message, flags) => ends(await (await import('./commands/run.ts')).run(message, flags, cli)))

  program
    .command('serve')
    .description('serve this home to the official client over HTTP')
    .option(
      '--host <address>',
      'where to listen; others than this machine need a long key',
      environmentValue('HOST') ?? DEFAULT_HOST,
    )
    .option('--port <number>', '0 takes any free port', environmentValue('PORT') ?? String(DEFAULT_PORT))
    .option('--access-log', 'one line of JSON on stderr for each request')
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
    .description('check that everything Holdfast promises holds for what is stored')
    .option('--repair', 'mend what can be mended without a doubt, and say what was done; no server may run meanwhile')
    .option('--json')
    .action(async (flags) => ends(await (await import('./commands/doctor.ts')).doctor(flags, cli)))

  program
    .command('demo')
    .description('a guided minute in a temporary home: a tool, an approval, a cancel, kill -9 and its recovery')
    .option('--fast', 'without the pauses for reading')
    .action(async (flags) => ends(await (await import('./commands/demo.ts')).demo(flags, cli)))

  program
    .command('simulate')
    .description('play the model providers on this machine, with scripted faults')
    .option('--port <number>', 'where to listen on loopback; 0 takes any free port', '8284')
    .option('--script <file>', 'what to answer, as JSON; see below')
    .option('--key <name=state...>', 'a known key: valid, revoked, expired, out-of-credit, limited or limited:SECONDS')
    .option('--verbose', 'show what was asked, too')
    .addHelpText('after', SIMULATE_HELP)
    .action(async (flags) => ends(await (await import('./commands/simulate.ts')).simulate(flags, cli)))

  return program
}

function addAgents(program: Command, cli: CliContext): void {
  const load = () => import('./commands/agents.ts')
  const agents = program.command('agents').description('list, create and show agents')
  agents
    .command('list', { isDefault: true })
    .option('--json')
    .action(async (flags) => (await load()).listAll(flags, cli))
  agents
    .command('create')
    .argument('<name>')
    .option('--model <handle...>', 'provider/model; several make a fallback chain (default: see config.yaml)')
    .option('--fallback <handle...>', 'where to go on when the model fails; every turn starts at the model again')
    .option('--system <text>', 'what the agent is told to be')
    .option('--tool <name...>', 'tools it may use; if none is named, all but those of workspaces')
    .action(async (name, flags) => (await load()).create(name, flags, cli))
  agents
    .command('show')
    .argument('<agent>', 'name or id')
    .option('--json')
    .action(async (agent, flags) => (await load()).show(agent, flags, cli))
}

function addRuns(program: Command, cli: CliContext): void {
  const load = () => import('./commands/runs.ts')
  const runs = program.command('runs').description('list runs, tell the story of one, cancel one')
  runs
    .command('list', { isDefault: true })
    .option('--agent <name>', 'only those of this agent')
    .option('--limit <number>', 'how many', '20')
    .option('--json')
    .action(async (flags) => (await load()).listAll(flags, cli))
  runs
    .command('show')
    .argument('<run>')
    .option('--json')
    .action(async (run, flags) => (await load()).show(run, flags, cli))
  runs
    .command('cancel')
    .argument('<run>')
    .action(async (run) => (await load()).cancel(run, cli))
}

function addApprovals(program: Command, cli: CliContext): void {
  const load = () => import('./commands/approvals.ts')
  const approvals = program.command('approvals').description('list what waits for a person, and answer it')
  approvals
    .command('list', { isDefault: true })
    .option('--json')
    .action(async (flags) => (await load()).listAll(flags, cli))
  approvals
    .command('approve')
    .argument('<run>')
    .argument('[call...]', 'only these calls; the others are declined. All if none is named')
    .action(async (run, calls) => (await load()).approve(run, calls, cli))
  approvals
    .command('deny')
    .argument('<run>')
    .option('--reason <text>', 'told to the agent')
    .action(async (run, flags) => (await load()).deny(run, flags, cli))
}

type CommandDeps = { cli: CliContext; ends(code: number): void }

function addWorkspaces(program: Command, { cli, ends }: CommandDeps): void {
  const load = () => import('./commands/workspaces.ts')
  const which = [
    '<workspace>',
    'id of a conversation, or name of an agent for the conversation it was last in',
  ] as const
  const workspaces = program
    .command('workspaces')
    .description('where agents work: files and processes of conversations; show, read logs, end, remove')
  workspaces
    .command('list', { isDefault: true })
    .option('--json')
    .action(async (flags) => (await load()).listAll(flags, cli))
  workspaces
    .command('show')
    .argument(...which)
    .option('--json')
    .action(async (workspace, flags) => (await load()).show(workspace, flags, cli))
  workspaces
    .command('logs')
    .description('what a process wrote')
    .argument(...which)
    .argument('<process>')
    .option('--last <bytes>', 'only the end of it')
    .action(async (workspace, process, flags) => (await load()).logs(workspace, process, { flags, context: cli }))
  workspaces
    .command('kill')
    .description('end a process and all it started')
    .argument(...which)
    .argument('<process>')
    .option('--json')
    .action(async (workspace, process, flags) => (await load()).kill(workspace, process, { ...flags, context: cli }))
  workspaces
    .command('remove')
    .description('remove a workspace for good: processes end, files are gone; the conversation stays')
    .argument(...which)
    .option('--yes', 'do not ask')
    .action(async (workspace, flags) => ends(await (await load()).remove(workspace, flags, cli)))
}

function addModels(program: Command, { cli, ends }: CommandDeps): void {
  program
    .command('models')
    .description('what the configured providers serve: windows, prices, and which agents use it')
    .option('--provider <name>', 'only this one, and all of its models')
    .option('--json')
    .action(async (flags) => ends(await (await import('./commands/models.ts')).models(flags, cli)))
}

function addProviders(program: Command, { cli, ends }: CommandDeps): void {
  const load = () => import('./commands/providers.ts')
  const providers = program
    .command('providers')
    .description('list model providers and how they stand, try one, let it be asked again')
  providers
    .command('list', { isDefault: true })
    .option('--json')
    .action(async (flags) => (await load()).listAll(flags, cli))
  providers
    .command('test')
    .description('one small request with the credential a turn would use; it costs what it costs')
    .argument('<provider>')
    .option('--model <name>', 'the model to ask; otherwise one an agent uses, or the first it lists')
    .option('--json')
    .action(async (name, flags) => ends(await (await load()).test(name, flags, cli)))
  providers
    .command('clear')
    .description('end the cooldowns of a provider, so that the next attempt asks it')
    .argument('<provider>')
    .option('--json')
    .action(async (name, flags) => (await load()).clear(name, flags, cli))
}

function addAuth(program: Command, { cli, ends }: CommandDeps): void {
  const load = () => import('./commands/auth.ts')
  const auth = program
    .command('auth')
    .description('keys and logins of providers; also while Holdfast runs on this home')
  auth
    .command('list', { isDefault: true })
    .option('--json')
    .action(async (flags) => (await load()).listAll(flags, cli))
  auth
    .command('add')
    .description('keep a key, sealed; it is typed unseen or piped in, never an argument')
    .argument('<provider>')
    .option('--label <name>', 'what to call it; several keys of a provider are a pool')
    .option('--key-stdin', 'read the key from standard input')
    .option('--device', 'sign in with a code in a browser, where the vendor has that')
    .option('--token-stdin', 'read the JSON answer of an OAuth token endpoint from standard input')
    .option('--token-url <url>', 'with --token-stdin: where these tokens are renewed')
    .option('--client-id <id>', 'with --token-stdin: as whom they are renewed')
    .option('--replace', 'a new secret for the one that has this label')
    .action(async (name, flags) => ends(await (await load()).add(name, flags, cli)))
  auth
    .command('refresh')
    .description('renew the logins of a provider, or one of them, now')
    .argument('<which>', 'a provider, an id or a label')
    .action(async (which) => ends(await (await load()).refresh(which, cli)))
  auth
    .command('remove')
    .argument('<credential>', 'id or label')
    .option('--yes', 'do not ask')
    .action(async (which, flags) => ends(await (await load()).remove(which, flags, cli)))
  auth
    .command('rotate-key')
    .description('a new key file for this home; everything kept is sealed anew')
    .action(async () => (await load()).rotate(cli))
}

const ORGANIZATION_OPTION = ['--organization <name>', 'name or id; without it the one the home began with'] as const

function addKeys(program: Command, cli: CliContext): void {
  const load = () => import('./commands/keys.ts')
  const keys = program.command('keys').description('keys for the server: who may come in, and what for')
  keys
    .command('list', { isDefault: true })
    .option(...ORGANIZATION_OPTION)
    .option('--json')
    .action(async (flags) => (await load()).listAll(flags, cli))
  keys
    .command('create')
    .description('make a key; it is shown once')
    .argument('<name>', 'what it is for')
    .option('--scope <scope>', 'read, agent or admin', 'agent')
    .option('--user <id>', 'whose it is')
    .option('--days <number>', 'how long it is valid; for ever without it')
    .option(...ORGANIZATION_OPTION)
    .option('--json')
    .action(async (name, flags) => (await load()).create(name, flags, cli))
  keys
    .command('revoke')
    .description('end a key, and within a second what it holds open')
    .argument('<key>', 'its id')
    .option(...ORGANIZATION_OPTION)
    .action(async (id, flags) => (await load()).revoke(id, flags, cli))
}

function addPeople(program: Command, cli: CliContext): void {
  const load = () => import('./commands/people.ts')
  const organizations = program.command('organizations').description('who shares agents; others see nothing of them')
  organizations
    .command('list', { isDefault: true })
    .option('--json')
    .action(async (flags) => (await load()).listAllOrganizations(flags, cli))
  organizations
    .command('create')
    .argument('<name>')
    .action(async (name) => (await load()).createOrganizationCommand(name, cli))
  const users = program.command('users').description('people whom keys belong to')
  users
    .command('list', { isDefault: true })
    .option(...ORGANIZATION_OPTION)
    .option('--json')
    .action(async (flags) => (await load()).listAllUsers(flags, cli))
  users
    .command('create')
    .argument('<name>')
    .option(...ORGANIZATION_OPTION)
    .action(async (name, flags) => (await load()).createUserCommand(name, flags, cli))
  users
    .command('remove')
    .description('remove a user and revoke its keys')
    .argument('<user>', 'its id')
    .option(...ORGANIZATION_OPTION)
    .action(async (id, flags) => (await load()).removeUser(id, flags, cli))
  program
    .command('audit')
    .description('who did what, when, from where, and what came of it')
    .option('--limit <number>', 'how many', '50')
    .option(...ORGANIZATION_OPTION)
    .option('--json')
    .action(async (flags) => (await import('./commands/audit.ts')).audit(flags, cli))
  program
    .command('cache')
    .description('what the running server keeps warm between turns')
    .option('--json')
    .action(async (flags) => (await import('./commands/cache.ts')).cache(flags, cli))
}

/** `holdfast runs | head` closes the pipe early; that is no fault, and the work itself goes on. */
function ignoreClosedPipe(fault: NodeJS.ErrnoException): void {
  if (fault.code !== 'EPIPE') throw fault
}
