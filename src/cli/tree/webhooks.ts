import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

export function addWebhooks(program: HoldfastCommand, { cli }: Pick<CommandDeps, 'cli'>): void {
  const load = () => import('../commands/webhooks.ts')
  const webhooks = program.command('webhooks').description('Tell other programs of what happens here.')
  const one = ['<webhook>', 'Webhook name, id, or the beginning of an id.'] as const
  webhooks
    .command('list', { isDefault: true })
    .description('List webhooks with their state.')
    .example('webhooks')
    .action(async (flags) => (await load()).listAll(flags, cli))
  webhooks
    .command('create')
    .description('Create a webhook. Its secret is printed once.')
    .example('webhooks create https://example.com/holdfast --event run.ended --event approval.waiting')
    .argument('<url>', 'The address.')
    .requiredOption('--event <event...>', 'What it is told of: run.ended, approval.waiting, schedule.missed, …')
    .option('--name <name>', 'Name of the webhook.')
    .action(async (url, flags) => (await load()).create(url, { flags, cli }))
  webhooks
    .command('test')
    .description('Send a webhook the event webhook.test.')
    .example('webhooks test ops')
    .argument(...one)
    .action(async (which, flags) => (await load()).test(which, flags, cli))
  webhooks
    .command('deliveries')
    .description('List deliveries of webhooks and callbacks, the newest first.')
    .example('webhooks deliveries --webhook ops --state failed')
    .option('--webhook <webhook>', 'Deliveries to this webhook only.')
    .option('--state <state>', 'Only those that are due, delivered or failed.')
    .option('--limit <number>', 'Maximum number of deliveries, 1 to 1000.', '30')
    .action(async (flags) => (await load()).deliveries(flags, cli))
  webhooks
    .command('redeliver')
    .description('Send a delivery again, under the same id.')
    .example('webhooks redeliver 42')
    .argument('<number>', 'The number of a delivery.')
    .action(async (number, flags) => (await load()).redeliver(number, flags, cli))
  webhooks
    .command('pause')
    .description('Pause a webhook. What happens meanwhile is kept as failed deliveries.')
    .example('webhooks pause ops')
    .argument(...one)
    .action(async (which, flags) => (await load()).setState(which, { flags, cli, verb: 'pause' }))
  webhooks
    .command('resume')
    .description('Resume a webhook that was paused, or disabled by days of failures.')
    .example('webhooks resume ops')
    .argument(...one)
    .action(async (which, flags) => (await load()).setState(which, { flags, cli, verb: 'resume' }))
  webhooks
    .command('new-secret')
    .description('Replace the secret of a webhook. The one before signs too for a day.')
    .example('webhooks new-secret ops')
    .argument(...one)
    .action(async (which, flags) => (await load()).newSecret(which, flags, cli))
  webhooks
    .command('delete')
    .description('Delete a webhook with its deliveries.')
    .example('webhooks delete ops --yes')
    .argument(...one)
    .option('--yes', 'Delete without asking.')
    .action(async (which, flags) => (await load()).remove(which, flags, cli))
}
