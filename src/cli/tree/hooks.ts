import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

export function addHooks(program: HoldfastCommand, { cli }: Pick<CommandDeps, 'cli'>): void {
  const load = () => import('../commands/hooks.ts')
  const hooks = program.command('hooks').description('Turn signed requests of other programs into messages to agents.')
  const one = ['<hook>', 'Hook name, id, or the beginning of an id.'] as const
  hooks
    .command('list', { isDefault: true })
    .description('List hooks.')
    .example('hooks')
    .action(async (flags) => (await load()).listAll(flags, cli))
  hooks
    .command('create')
    .description(
      'Create a hook. Its secret is printed once. Calls that need approval are denied, unless --on-guarded is ask.',
    )
    .example(`hooks create ada "An issue was {{body.action}}: {{body.issue.title}}" --scheme github --event issues`)
    .argument('<agent>', 'Agent name, id, or the beginning of an id.')
    .argument('<template>', 'The message, with {{body.field}}, {{event}} and {{headers.name}}.')
    .option('--scheme <scheme>', 'How the sender signs: standard, github, stripe or hmac.', 'standard')
    .option('--secret-stdin', 'Read the secret of the sender from standard input. Default: a new one.')
    .option('--signature-header <name>', 'Of the scheme hmac: the header with the signature. Default: x-signature.')
    .option('--event <event...>', 'Events that are taken. Default: all.')
    .option('--name <name>', 'Name of the hook.')
    .option('--conversation <id>', 'A conversation of the agent. Default: its default conversation.')
    .option('--per-minute <number>', 'Deliveries that are taken per minute. Default: 60.')
    .option('--model <model>', 'Model of its runs, as provider/model.')
    .option('--on-guarded <what>', 'What happens to calls that need approval: deny or ask.', 'deny')
    .action(async (agent, template, flags) => (await load()).create(agent, template, { flags, cli }))
  hooks
    .command('update')
    .description('Change a hook. What is not named stays.')
    .example('hooks update issues --per-minute 10')
    .argument(...one)
    .option('--template <template>', 'The message, with {{body.field}}, {{event}} and {{headers.name}}.')
    .option('--event <event...>', 'Events that are taken.')
    .option('--all-events', 'Take every event.')
    .option('--name <name>', 'Name of the hook.')
    .option('--per-minute <number>', 'Deliveries that are taken per minute.')
    .option('--model <model>', 'Model of its runs, as provider/model.')
    .option('--on-guarded <what>', 'What happens to calls that need approval: deny or ask.')
    .action(async (which, flags) => (await load()).update(which, flags, cli))
  hooks
    .command('deliveries')
    .description('List what came to a hook, with the run it became or the reason why not.')
    .example('hooks deliveries issues')
    .argument(...one)
    .option('--limit <number>', 'Maximum number of deliveries, 1 to 1000.', '30')
    .action(async (which, flags) => (await load()).deliveries(which, flags, cli))
  hooks
    .command('pause')
    .description('Pause a hook. Its deliveries are refused, so that their senders try again.')
    .example('hooks pause issues')
    .argument(...one)
    .action(async (which, flags) => (await load()).setPaused(which, { flags, cli, verb: 'pause' }))
  hooks
    .command('resume')
    .description('Resume a paused hook.')
    .example('hooks resume issues')
    .argument(...one)
    .action(async (which, flags) => (await load()).setPaused(which, { flags, cli, verb: 'resume' }))
  hooks
    .command('new-secret')
    .description('Replace the secret of a hook. The one before is accepted too for a day.')
    .example('hooks new-secret issues')
    .argument(...one)
    .action(async (which, flags) => (await load()).newSecret(which, flags, cli))
  hooks
    .command('delete')
    .description('Delete a hook and its log. Its runs stay.')
    .example('hooks delete issues --yes')
    .argument(...one)
    .option('--yes', 'Delete without asking.')
    .action(async (which, flags) => (await load()).remove(which, flags, cli))
}
