import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

const AGENT = ['--agent <name>', 'Agent name or id.'] as const
const TEXT = 'Text of the block, or - to read it from stdin.'

export function addMemory(program: HoldfastCommand, deps: CommandDeps): void {
  const { cli, ends } = deps
  const load = () => import('../commands/memory.ts')
  const loadHistory = () => import('../commands/memory-history.ts')
  const which = [
    '<block>',
    'Label, id, or the beginning of an id. A label that several blocks have needs --agent.',
  ] as const
  const memory = program
    .command('memory')
    .description('Show and change what agents remember: memory blocks and passages.')
  memory
    .command('list', { isDefault: true })
    .description('List memory blocks.')
    .option(AGENT[0], 'Only the blocks of this agent (name or id).')
    .example('memory', 'memory list --agent ada')
    .action(async (flags) => (await load()).listAll(flags, cli))
  memory
    .command('show')
    .description('Show a memory block and the agents that use it.')
    .argument(...which)
    .option(...AGENT)
    .example('memory show human --agent ada')
    .action(async (block, flags) => (await load()).show(block, flags, cli))
  withBlockFields(
    memory
      .command('create')
      .description('Create a memory block.')
      .argument('<label>', 'Name of the block in the prompt; unique within an agent.')
      .argument('<text>', TEXT)
      .option(AGENT[0], 'Agent to attach it to (name or id).'),
  )
    .example('memory create rules "Answer in Norwegian."')
    .action(async (label, text, flags) => (await load()).create(label, text, { flags, cli }))
  withBlockFields(
    memory
      .command('set')
      .description('Change a memory block. With --agent, a label the agent does not have creates a block.')
      .argument(...which)
      .argument('[text]', TEXT)
      .option(...AGENT),
  )
    .example('memory set human "Likes tea." --agent ada')
    .action(async (block, text, flags) => (await load()).set(block, text, { flags, cli }))
  memory
    .command('edit')
    .description('Edit a memory block in the editor that VISUAL or EDITOR names.')
    .argument(...which)
    .option(...AGENT)
    .example('memory edit human --agent ada')
    .action(async (block, flags) => (await load()).edit(block, flags, cli))
  memory
    .command('history')
    .description('List the values that a memory block had, and who wrote them; with a version, print that value.')
    .argument(...which)
    .argument('[version]', 'Number of a version.')
    .option(...AGENT)
    .example('memory history human --agent ada', 'memory history human 3 --agent ada')
    .action(async (block, version, flags) => (await loadHistory()).history(block, version, { flags, cli }))
  memory
    .command('restore')
    .description('Give a memory block the value that it had in a version. The history keeps what it replaces.')
    .argument(...which)
    .argument('<version>', 'Number of a version.')
    .option(...AGENT)
    .example('memory restore human 3 --agent ada')
    .action(async (block, version, flags) => (await loadHistory()).restore(block, version, { flags, cli }))
  memory
    .command('attach')
    .description('Attach a memory block to an agent. Agents can share one.')
    .argument('<agent>', 'Agent name or id.')
    .argument(...which)
    .example('memory attach ada rules')
    .action(async (agent, block, flags) => (await load()).attach({ agent, block }, flags, cli))
  memory
    .command('detach')
    .description('Detach a memory block from an agent. The block stays.')
    .argument('<agent>', 'Agent name or id.')
    .argument(...which)
    .example('memory detach ada rules')
    .action(async (agent, block, flags) => (await load()).detach({ agent, block }, flags, cli))
  memory
    .command('delete')
    .description('Delete a memory block.')
    .argument(...which)
    .option(...AGENT)
    .option('--yes', 'Do not ask for confirmation.')
    .example('memory delete rules --yes')
    .action(async (block, flags) => ends(await (await load()).remove(block, flags, cli)))
  addPassages(memory, deps)
}

const withBlockFields = (command: HoldfastCommand): HoldfastCommand =>
  command
    .option('--description <text>', 'What the block is for; the prompt shows it to the model.')
    .option('--limit <characters>', 'Maximum number of characters of the text.')
    .option('--read-only', 'Agents cannot change it.')
    .option('--writable', 'Agents can change it.')

function addPassages(memory: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('../commands/passages.ts')
  const passages = memory.command('passages').description('List, add, search and delete passages of an agent.')
  passages
    .command('list', { isDefault: true })
    .description('List the passages of an agent, newest first.')
    .requiredOption(...AGENT)
    .option('--limit <number>', 'Maximum number of passages, 1 to 1000.', '50')
    .example('memory passages list --agent ada')
    .action(async (flags) => (await load()).listAll(flags, cli))
  passages
    .command('search')
    .description('Search the passages of an agent, by words and by meaning.')
    .argument('<query>', 'Text to search for.')
    .requiredOption(...AGENT)
    .option('--tag <tag...>', 'Only passages with one of these tags.')
    .option('--limit <number>', 'Maximum number of passages, 1 to 100.', '10')
    .example('memory passages search tea --agent ada')
    .action(async (query, flags) => (await load()).search(query, flags, cli))
  passages
    .command('add')
    .description('Add a passage.')
    .argument('<text>', 'Text of the passage, or - to read it from stdin.')
    .requiredOption(...AGENT)
    .option('--tag <tag...>', 'Tags to find it by.')
    .example('memory passages add "Ada likes tea." --agent ada --tag drinks')
    .action(async (text, flags) => (await load()).add(text, flags, cli))
  passages
    .command('delete')
    .description('Delete a passage.')
    .argument('<passage>', 'Passage id or its beginning.')
    .requiredOption(...AGENT)
    .option('--yes', 'Do not ask for confirmation.')
    .example('memory passages delete passage-3f2a91bc --agent ada --yes')
    .action(async (passage, flags) => ends(await (await load()).remove(passage, flags, cli)))
}
