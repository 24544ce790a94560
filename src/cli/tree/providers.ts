import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

export function addModels(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const loadNotes = () => import('../commands/model-notes.ts')
  const models = program
    .command('models')
    .description('List models of the configured providers, or what is remembered of models after failures.')
  models
    .command('list', { isDefault: true })
    .description('List models of the configured providers, with context windows, prices and the agents that use them.')
    .example('models', 'models --provider scripted')
    .option('--provider <name>', 'Only this provider, with all of its models.')
    .action(async (flags) => ends(await (await import('../commands/models.ts')).models(flags, cli)))
  models
    .command('notes')
    .description('List what is remembered of models after failures, with its end.')
    .example('models notes')
    .action(async (flags) => (await loadNotes()).notes(flags, cli))
  models
    .command('forget')
    .description('Forget what is remembered of a model, so that its next request is sent without it.')
    .argument('<model>', 'Model as provider/model.')
    .example('models forget openai/gpt-4.1')
    .action(async (model, flags) => (await loadNotes()).forget(model, flags, cli))
}

export function addProviders(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('../commands/providers.ts')
  const providers = program
    .command('providers')
    .description('List model providers and their state, test one, or end its cooldowns.')
  providers
    .command('list', { isDefault: true })
    .description('List providers and their state.')
    .example('providers')
    .action(async (flags) => (await load()).listAll(flags, cli))
  providers
    .command('test')
    .description('Send one small request with the credential a turn would use. The provider may charge for it.')
    .example('providers test scripted')
    .argument('<provider>', 'Provider name.')
    .option('--model <name>', 'Model to use. Default: one that an agent uses, or the first the provider lists.')
    .action(async (name, flags) => ends(await (await load()).test(name, flags, cli)))
  providers
    .command('clear')
    .description('End the cooldowns of a provider, so that the next attempt uses it.')
    .example('providers clear openai')
    .argument('<provider>', 'Provider name.')
    .action(async (name, flags) => (await load()).clear(name, flags, cli))
}

export function addAuth(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('../commands/auth.ts')
  const auth = program
    .command('auth')
    .description('Manage keys and logins of providers. Works while a server runs on this home.')
  auth
    .command('list', { isDefault: true })
    .description('List stored credentials.')
    .example('auth')
    .option('--organization <name>', 'List the keys that this organization has of its own.')
    .action(async (flags) => (await load()).listAll(flags, cli))
  auth
    .command('add')
    .description('Store a key, encrypted. Type it (hidden) or pipe it in; it is never an argument.')
    .example('auth add openai', 'auth add openai --label work --key-stdin < key.txt')
    .argument('<provider>', 'Provider name.')
    .option('--organization <name>', 'A key of this organization: its agents use it instead of those of the server.')
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
    .example('auth refresh codex')
    .argument('<which>', 'Provider, credential id or label.')
    .action(async (which, flags) => ends(await (await load()).refresh(which, flags, cli)))
  auth
    .command('remove')
    .description('Remove a credential.')
    .example('auth remove work --yes')
    .argument('<credential>', 'Credential id or label.')
    .option('--organization <name>', 'Remove a key that this organization has of its own.')
    .option('--yes', 'Do not ask for confirmation.')
    .action(async (which, flags) => ends(await (await load()).remove(which, flags, cli)))
  auth
    .command('rotate-key')
    .description('Create a new encryption key for this home and encrypt every credential again.')
    .example('auth rotate-key')
    .action(async (flags) => (await load()).rotate(flags, cli))
}
