import type { Command } from 'commander'
import type { CliContext } from './cli-context.ts'
import { JSON_OPTION } from './json-option.ts'

export function addAgents(program: Command, cli: CliContext): void {
  const load = () => import('./commands/agents.ts')
  const agents = program.command('agents').description('List, create, change and show agents.')
  agents
    .command('list', { isDefault: true })
    .description('List agents.')
    .option(...JSON_OPTION)
    .action(async (flags) => (await load()).listAll(flags, cli))
  agents
    .command('create')
    .description('Create an agent.')
    .argument('<name>', 'Name of the agent.')
    .option(
      '--model <handle...>',
      'Model as provider/model. Several make a failover chain. Default: model in config.yaml, or scripted/friendly.',
    )
    .option('--fallback <handle...>', 'Models to fail over to, in order. Every turn starts at --model again.')
    .option('--system <text>', 'System prompt of the agent.')
    .option('--tool <name...>', 'Tools the agent may use. Default: all except workspace tools.')
    .action(async (name, flags) => (await load()).create(name, flags, cli))
  agents
    .command('update')
    .description('Change the models of an agent. A turn that runs keeps the old ones.')
    .argument('<agent>', 'Agent name or id.')
    .option('--model <handle...>', 'Model as provider/model. Several make a failover chain.')
    .option('--fallback <handle...>', 'Models to fail over to, in order. Replaces the whole chain.')
    .option('--no-fallback', 'Remove the chain of the agent; fallback in config.yaml applies.')
    .action(async (agent, flags) => (await load()).update(agent, flags, cli))
  agents
    .command('show')
    .description('Show an agent.')
    .argument('<agent>', 'Agent name or id.')
    .option(...JSON_OPTION)
    .action(async (agent, flags) => (await load()).show(agent, flags, cli))
}
