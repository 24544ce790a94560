import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

const ORGANIZATION_OPTION = [
  '--organization <name>',
  'Organization name or id. Default: the default organization.',
] as const

export function addKeys(program: HoldfastCommand, { cli }: CommandDeps): void {
  const load = () => import('../commands/keys.ts')
  const keys = program.command('keys').description('Manage API keys of the server.')
  keys
    .command('list', { isDefault: true })
    .description('List API keys.')
    .example('keys')
    .option(...ORGANIZATION_OPTION)
    .action(async (flags) => (await load()).listAll(flags, cli))
  keys
    .command('create')
    .description('Create an API key. It is shown once.')
    .example('keys create laptop --scope agent --days 90')
    .argument('<name>', 'Name of the key.')
    .option(
      '--scope <scope>',
      'Scope of the key: read, approve, tools, agent, "agent approve", "agent tools", "agent approve tools" or admin.',
      'agent',
    )
    .option('--user <id>', 'Id of the user the key belongs to.')
    .option('--days <number>', 'Days until the key expires. Default: never.')
    .option(...ORGANIZATION_OPTION)
    .action(async (name, flags) => (await load()).create(name, flags, cli))
  keys
    .command('revoke')
    .description('Revoke a key. Its open connections close within a second.')
    .example('keys revoke key-3f2a91bc')
    .argument('<key>', 'Key name, id, or the beginning of an id.')
    .option(...ORGANIZATION_OPTION)
    .action(async (id, flags) => (await load()).revoke(id, flags, cli))
}

function addLimits(program: HoldfastCommand, { cli }: Pick<CommandDeps, 'cli'>): void {
  const load = () => import('../commands/limits.ts')
  const limits = program.command('limits').description('Show and set what an organization may use.')
  limits
    .command('show', { isDefault: true })
    .description('Show the limits of an organization, and what it uses now.')
    .example('limits --organization acme')
    .option(...ORGANIZATION_OPTION)
    .action(async (flags) => (await load()).showLimits(flags, cli))
  limits
    .command('set')
    .description('Set limits of an organization. The running server follows within a second.')
    .example('limits set queued_turns_per_organization=100 --organization acme --models openai/*')
    .argument('[limits...]', 'NAME=NUMBER, 0 for no limit, or NAME=default.')
    .option('--models <list>', 'Models that its agents may use: provider/model or provider/*, or all.')
    .option('--provider-keys <list>', 'Providers whose keys of the server its agents may use: names, all or none.')
    .option(...ORGANIZATION_OPTION)
    .action(async (assignments, flags) => (await load()).changeLimits(assignments, flags, cli))
}

export function addPeople(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('../commands/people.ts')
  const organizations = program
    .command('organizations')
    .description('List, create and delete organizations. An agent is visible only inside its organization.')
  organizations
    .command('list', { isDefault: true })
    .description('List organizations.')
    .example('organizations')
    .action(async (flags) => (await load()).listAllOrganizations(flags, cli))
  organizations
    .command('create')
    .description('Create an organization.')
    .example('organizations create acme')
    .argument('<name>', 'Name of the organization.')
    .action(async (name, flags) => (await load()).createOrganizationCommand(name, flags, cli))
  organizations
    .command('delete')
    .description('Delete an organization with all that it has, and show what was erased.')
    .example('organizations delete acme --yes')
    .argument('<organization>', 'Organization name, id, or the beginning of an id.')
    .option('--yes', 'Do not ask.')
    .action(async (name, flags) => ends(await (await load()).deleteOrganizationCommand(name, flags, cli)))
  const users = program.command('users').description('List, create and remove users. A key can belong to a user.')
  users
    .command('list', { isDefault: true })
    .description('List users.')
    .example('users')
    .option(...ORGANIZATION_OPTION)
    .action(async (flags) => (await load()).listAllUsers(flags, cli))
  users
    .command('create')
    .description('Create a user.')
    .example('users create ada')
    .argument('<name>', 'Name of the user.')
    .option(...ORGANIZATION_OPTION)
    .action(async (name, flags) => (await load()).createUserCommand(name, flags, cli))
  users
    .command('remove')
    .description('Remove a user and revoke its keys.')
    .example('users remove user-3f2a91bc')
    .argument('<user>', 'User name, id, or the beginning of an id.')
    .option(...ORGANIZATION_OPTION)
    .action(async (id, flags) => (await load()).removeUser(id, flags, cli))
  addLimits(program, { cli })
  program
    .command('audit')
    .description('Show the audit log: who did what, when, from where and with what result.')
    .example('audit --limit 20')
    .example('audit --follow --json')
    .option('--limit <number>', 'Maximum number of entries, 1 to 10000.', '50')
    .option('--after <id>', 'Only entries after this one, oldest first.')
    .option('--follow', 'Print later entries too, until Ctrl-C; with --json one on each line.')
    .option(...ORGANIZATION_OPTION)
    .action(async (flags) => ends(await (await import('../commands/audit.ts')).audit(flags, cli)))
  program
    .command('cache')
    .description('Show the conversation cache of the running server.')
    .example('cache --json')
    .action(async (flags) => (await import('../commands/cache.ts')).cache(flags, cli))
}
