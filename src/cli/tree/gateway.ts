import { PLATFORM_NAMES } from '../../core/gateway/platforms.ts'
import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

const ACCOUNT = ['--account <name>', 'Only of this account.'] as const
const LIMIT = ['--limit <number>', 'Maximum number of lines, 1 to 1000.', '20'] as const

export function addGateway(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('../commands/gateway.ts')
  const gateway = program
    .command('gateway')
    .description('Show the chat platforms: accounts, chats, messages and people.')
  gateway
    .command('accounts', { isDefault: true })
    .description('List the accounts with their state.')
    .example('gateway')
    .action(async (flags) => (await load()).accounts(flags, cli))
  gateway
    .command('add')
    .description('Add an account: asks for its token, checks it, and writes it into config.yaml.')
    .example('gateway add telegram')
    .argument('<platform>', `The chat platform: ${PLATFORM_NAMES.join(', ')}.`)
    .option('--name <name>', 'Name of the account. Default: the name of the platform.')
    .option('--agent <agent>', 'The agent that answers, by name or id.')
    .option('--api-root <url>', 'Where the API of the platform is, for example a simulator.')
    .option('--token-stdin', 'Read the token from standard input; several tokens are lines.')
    .action(async (platform, flags) =>
      ends(await (await import('../commands/gateway-add.ts')).add(platform, flags, cli)),
    )
  gateway
    .command('sessions')
    .description('List the chats with their conversations, the last active first.')
    .example('gateway sessions')
    .option(...ACCOUNT)
    .option(...LIMIT)
    .action(async (flags) => (await load()).sessions(flags, cli))
  gateway
    .command('inbound')
    .description('List what arrived, newest first, with the run it became or why it became none.')
    .example('gateway inbound --account telegram')
    .option(...ACCOUNT)
    .option(...LIMIT)
    .action(async (flags) => (await load()).inbound(flags, cli))
  gateway
    .command('outbound')
    .description('List what was sent or waits for it, newest first.')
    .example('gateway outbound --limit 50')
    .option(...ACCOUNT)
    .option(...LIMIT)
    .action(async (flags) => (await load()).outbound(flags, cli))
  gateway
    .command('pairings')
    .description('List the people who may talk in private chats, and those who asked to.')
    .example('gateway pairings')
    .action(async (flags) => (await load()).pairings(flags, cli))
  gateway
    .command('approve')
    .description('Approve the person who was shown this code.')
    .example('gateway approve ABCD2345')
    .argument('<code>', 'The code that the bot showed.')
    .action(async (code, flags) => (await load()).approve(code, flags, cli))
  gateway
    .command('revoke')
    .description('End a pairing: the person is a stranger again.')
    .example('gateway revoke telegram 1001')
    .argument('<account>', 'Name of the account.')
    .argument('<person>', 'Id of the person at the platform.')
    .action(async (account, person, flags) => (await load()).revoke(account, person, { flags, cli }))
  gateway
    .command('identities')
    .description('List the accounts of people that were linked with /link, those of one person together.')
    .example('gateway identities')
    .action(async (flags) => (await load()).identities(flags, cli))
  gateway
    .command('unlink')
    .description('End a link: this account is a person of its own again.')
    .example('gateway unlink telegram 1001')
    .argument('<account>', 'Name of the account.')
    .argument('<person>', 'Id of the person at the platform.')
    .action(async (account, person, flags) => (await load()).unlink(account, person, { flags, cli }))
}
