import { addAgentFields } from '../agent-fields.ts'
import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

export function addAgents(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('../commands/agents.ts')
  const loadFiles = () => import('../commands/agent-files.ts')
  const which = ['<agent>', 'Agent name, id, or the beginning of an id.'] as const
  const agents = program.command('agents').description('List, create, change, delete, export and import agents.')
  agents
    .command('list', { isDefault: true })
    .description('List agents, newest first.')
    .example('agents', 'agents list --json')
    .action(async (flags) => (await load()).listAll(flags, cli))
  addAgentFields(
    agents
      .command('create')
      .description('Create an agent.')
      .argument('<name>', 'Name of the agent.')
      .option(
        '--model <handle...>',
        'Model as provider/model. Several make a failover chain. Default: model in config.yaml, or scripted/friendly.',
      )
      .option('--fallback <handle...>', 'Models to fail over to, in order. Every turn starts at --model again.')
      .option('--block <label=text...>', 'Memory blocks to create with it.')
      .option('--force', 'Create it although another agent has this name.'),
  )
    .example(
      'agents create ada --model scripted/friendly',
      'agents create ada --block human="Likes tea." --temperature 0.2',
    )
    .action(async (name, flags) => (await load()).create(name, flags, cli))
  addAgentFields(
    agents
      .command('update')
      .description('Change an agent. A turn that runs keeps the old settings.')
      .argument(...which)
      .option('--name <name>', 'Name of the agent.')
      .option('--model <handle...>', 'Model as provider/model. Several make a failover chain.')
      .option('--fallback <handle...>', 'Models to fail over to, in order. Replaces the whole chain.')
      .option('--no-fallback', 'Remove the chain of the agent; fallback in config.yaml applies.')
      .option('--no-session-expiry', 'Sessions never end by themselves.'),
  )
    .example('agents update ada --model scripted/friendly --temperature 0.5', 'agents update ada --no-fallback')
    .action(async (agent, flags) => (await load()).update(agent, flags, cli))
  agents
    .command('show')
    .description('Show an agent with its settings, and what belongs to it.')
    .argument(...which)
    .example('agents show ada')
    .action(async (agent, flags) => (await load()).show(agent, flags, cli))
  agents
    .command('delete')
    .description('Delete an agent with its conversations, runs, passages and workspaces.')
    .argument(...which)
    .option('--yes', 'Do not ask for confirmation.')
    .example('agents delete ada --yes')
    .action(async (agent, flags) => ends(await (await load()).remove(agent, flags, cli)))
  agents
    .command('export')
    .description('Write an agent with its memory and messages to a file that another server can import.')
    .argument(...which)
    .option('--file <path>', 'File to write, or - for stdout. Default: the name of the agent, with .af.')
    .option('--conversation <id>', 'Conversation whose messages are exported. Default: the default conversation.')
    .option('--no-messages', 'Leave out the messages.')
    .option('--force', 'Replace the file if it exists.')
    .example('agents export ada --file ada.af')
    .action(async (agent, flags) => (await loadFiles()).exportOne(agent, flags, cli))
  agents
    .command('import')
    .description(
      'Create the agents of agent files, or of all files of a folder. Each file is imported whole or not at all.',
    )
    .argument('<file...>', 'Agent files, or folders with them.')
    .option('--name <name>', 'Name of the agent, for one file.')
    .option('--model <handle>', 'Model that replaces the one in the files, as provider/model.')
    .option('--fallback <handle...>', 'Failover models that replace those in the files.')
    .option('--no-fallback', 'Leave out the failover models of the files.')
    .option('--no-messages', 'Leave out the messages.')
    .option('--no-tools', 'Keep tools of this server that have the name of a tool in a file.')
    .example('agents import ada.af --model scripted/friendly')
    .action(async (files, flags) => ends(await (await loadFiles()).importAll(files, flags, cli)))
}
