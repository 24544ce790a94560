import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

const TOOL = ['<tool>', 'Tool name, id, or the beginning of an id.'] as const
const AGENT = ['<agent>', 'Agent name or id.'] as const
const ARGS = ['--args <json>', 'Arguments as a JSON object.'] as const
const YES = ['--yes', 'Do not ask for confirmation.'] as const

export function addTools(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('../commands/tools.ts')
  const tools = program.command('tools').description('List tools, run one, and decide which agent has which.')
  tools
    .command('list', { isDefault: true })
    .description('List tools.')
    .option('--agent <name>', 'Only the tools of this agent (name or id).')
    .example('tools', 'tools list --agent ada')
    .action(async (flags) => (await load()).listAll(flags, cli))
  tools
    .command('show')
    .description('Show a tool with its arguments and the agents that have it.')
    .argument(...TOOL)
    .example('tools show current_time')
    .action(async (tool, flags) => (await load()).show(tool, flags, cli))
  tools
    .command('add')
    .description('Store the source of a tool, replacing the tool with the same name.')
    .argument('<file>', 'Python source, or TypeScript if the name ends in .ts.')
    .option('--description <text>', 'What the model reads about the tool.')
    .option('--tag <tag...>', 'Tags to find it by.')
    .option('--approval', 'Calls need approval, unless an agent says otherwise.')
    .example('tools add double.py')
    .action(async (file, flags) => (await load()).add(file, flags, cli))
  tools
    .command('attach')
    .description('Give an agent a tool.')
    .argument(...AGENT)
    .argument(...TOOL)
    .example('tools attach ada roll_dice')
    .action(async (agent, tool, flags) => (await load()).attach({ agent, tool }, flags, cli))
  tools
    .command('detach')
    .description('Take a tool away from an agent.')
    .argument(...AGENT)
    .argument(...TOOL)
    .example('tools detach ada roll_dice')
    .action(async (agent, tool, flags) => (await load()).detach({ agent, tool }, flags, cli))
  tools
    .command('run')
    .description('Run a tool of an agent, without a model and without asking for approval.')
    .argument(...TOOL)
    .requiredOption('--agent <name>', 'Agent name or id.')
    .option(...ARGS)
    .example(`tools run roll_dice --agent ada --args '{"count":2}'`)
    .action(async (tool, flags) => ends(await (await load()).run(tool, flags, cli)))
  tools
    .command('approval')
    .description('Set whether calls of a tool by an agent need approval.')
    .argument(...AGENT)
    .argument(...TOOL)
    .argument('<on|off>', 'Whether calls need approval.')
    .example('tools approval ada roll_dice on')
    .action(async (agent, tool, answer, flags) => (await load()).approval({ agent, tool }, answer, { flags, cli }))
  tools
    .command('delete')
    .description('Delete a stored tool.')
    .argument(...TOOL)
    .option(...YES)
    .example('tools delete double --yes')
    .action(async (tool, flags) => ends(await (await load()).remove(tool, flags, cli)))
  addEnv(tools, cli)
}

function addEnv(tools: HoldfastCommand, cli: CommandDeps['cli']): void {
  const load = () => import('../commands/tool-env.ts')
  const organization = ['--organization <name>', 'Organization (name or id). Default: that of the home.'] as const
  const index = ['--index <url>', 'Package index. Default: that of pip.'] as const
  const links = ['--find-links <path>', 'Folder or page with wheels.'] as const
  const env = tools.command('env').description('Manage the Python packages that tools from source can import.')
  env
    .command('list', { isDefault: true })
    .description('List the packages with their versions and hashes.')
    .option(...organization)
    .example('tools env')
    .action(async (flags) => (await load()).listEnv(flags, cli))
  env
    .command('add')
    .description('Install packages from wheels; the others keep their versions.')
    .argument('<package...>', 'Names, or requirements such as "requests>=2".')
    .option(...index)
    .option(...links)
    .option(...organization)
    .example('tools env add requests')
    .action(async (names, flags) => (await load()).addToEnv(names, flags, cli))
  env
    .command('remove')
    .description('Remove packages, and those that only they needed.')
    .argument('<package...>', 'Names of packages that were added.')
    .option(...index)
    .option(...links)
    .option(...organization)
    .example('tools env remove requests')
    .action(async (names, flags) => (await load()).removeFromEnv(names, flags, cli))
}

export function addMcp(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('../commands/mcp.ts')
  const which = ['<server>', 'Name of the MCP server, id, or the beginning of an id.'] as const
  const header = ['--header <name=value...>', 'Headers of every request, stored encrypted.'] as const
  const timeout = [
    '--timeout <seconds>',
    'How long a call of one of its tools may take, 1 to 3600. Default: 120.',
  ] as const
  const token = ['--token-stdin', 'Read the token of the server from stdin.'] as const
  const mcp = program.command('mcp').description('Manage MCP servers, whose tools agents can use.')
  mcp
    .command('list', { isDefault: true })
    .description('List MCP servers.')
    .example('mcp')
    .action(async (flags) => (await load()).listAll(flags, cli))
  mcp
    .command('show')
    .description('Show an MCP server and its state.')
    .argument(...which)
    .example('mcp show search')
    .action(async (server, flags) => (await load()).show(server, flags, cli))
  mcp
    .command('add')
    .description('Add an MCP server and read its tools.')
    .argument('<name>', 'Name of the server.')
    .argument('[url]', 'URL of the server.')
    .option('--sse', 'Use the older transport, server-sent events.')
    .option(...token)
    .option(...header)
    .option('--command <word...>', 'Program that is the server, with its arguments. It runs in a sandbox of its own.')
    .option('--env <name=value...>', 'Environment variables of the program, stored encrypted.')
    .option('--egress <domain...>', 'Domains that the program may reach. Default: none.')
    .option(...timeout)
    .example('mcp add search https://mcp.example.com/mcp', 'mcp add notes --command node /programs/notes.mjs')
    .action(async (name, url, flags) => (await load()).add(name, url, { flags, cli }))
  mcp
    .command('update')
    .description('Change an MCP server.')
    .argument(...which)
    .option('--name <name>', 'Name of the server.')
    .option('--url <url>', 'URL of the server.')
    .option(...token)
    .option(...header)
    .option(...timeout)
    .example('mcp update search --url https://mcp.example.com/v2')
    .action(async (server, flags) => (await load()).update(server, flags, cli))
  mcp
    .command('connect')
    .description('Authorize Holdfast at an MCP server (OAuth): prints an address to open, and waits.')
    .argument(...which)
    .option('--client-id <id>', 'Client that you registered at its authorization server. Default: one is registered.')
    .option('--client-secret-stdin', 'Read the secret of that client from stdin.')
    .option('--paste-stdin', 'Read from stdin the address that the browser ended at, and finish with it.')
    .example('mcp connect search')
    .action(async (server, flags) => (await import('../commands/mcp-connect.ts')).connect(server, flags, cli))
  mcp
    .command('disconnect')
    .description('End the authorization of an MCP server: deletes its tokens.')
    .argument(...which)
    .example('mcp disconnect search')
    .action(async (server, flags) => (await import('../commands/mcp-connect.ts')).disconnect(server, flags, cli))
  mcp
    .command('refresh')
    .description('Read the tools of an MCP server again. Changed definitions wait for approval.')
    .argument(...which)
    .option('--approve', 'Approve the changed definitions unseen.')
    .example('mcp refresh search')
    .action(async (server, flags) => (await load()).refresh(server, flags, cli))
  mcp
    .command('approve')
    .description('Show the changed definitions of tools of an MCP server, and approve them.')
    .argument(...which)
    .argument('[tool]', 'Only this tool.')
    .option(...YES)
    .example('mcp approve search', 'mcp approve search find --yes')
    .action(async (server, tool, flags) => ends(await (await load()).approve(server, tool, { flags, cli })))
  mcp
    .command('tools')
    .description('List the tools of an MCP server.')
    .argument(...which)
    .example('mcp tools search')
    .action(async (server, flags) => (await load()).tools(server, flags, cli))
  mcp
    .command('resources')
    .description('List the resources of an MCP server.')
    .argument(...which)
    .example('mcp resources search')
    .action(async (server, flags) => (await load()).resources(server, flags, cli))
  mcp
    .command('prompts')
    .description('List the prompts of an MCP server.')
    .argument(...which)
    .example('mcp prompts search')
    .action(async (server, flags) => (await load()).prompts(server, flags, cli))
  mcp
    .command('run')
    .description('Run a tool of an MCP server, without an agent.')
    .argument(...which)
    .argument(...TOOL)
    .option(...ARGS)
    .example(`mcp run search find --args '{"query":"tea"}'`)
    .action(async (server, tool, flags) => ends(await (await load()).run(server, tool, { flags, cli })))
  mcp
    .command('serve')
    .description('Offer the agents of this home as tools to a program that speaks MCP over stdin and stdout.')
    .example('mcp serve')
    .action(async () => (await import('../commands/mcp-serve.ts')).serve(cli))
  mcp
    .command('remove')
    .description('Remove an MCP server with its tools.')
    .argument(...which)
    .option(...YES)
    .example('mcp remove search --yes')
    .action(async (server, flags) => ends(await (await load()).remove(server, flags, cli)))
}
