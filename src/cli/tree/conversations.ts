import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

export function addConversations(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('../commands/conversations.ts')
  const which = ['<conversation>', 'Conversation id or its beginning, or an agent for its last conversation.'] as const
  const conversations = program.command('conversations').description('List, show, change and export conversations.')
  conversations
    .command('list', { isDefault: true })
    .description('List conversations with their first words, the last active first.')
    .option('--agent <name>', 'Only conversations of this agent (name or id).')
    .option('--limit <number>', 'Maximum number of conversations, 1 to 1000.', '20')
    .option('--archived', 'Only archived conversations.')
    .example('conversations', 'conversations list --agent ada --json')
    .action(async (flags) => (await load()).listAll(flags, cli))
  conversations
    .command('show')
    .description('Show a conversation and its latest messages.')
    .argument(...which)
    .option('--messages <number>', 'How many of the latest messages to show.', '10')
    .example('conversations show ada')
    .action(async (conversation, flags) => (await load()).show(conversation, flags, cli))
  conversations
    .command('new')
    .description('Create a conversation.')
    .requiredOption('--agent <name>', 'Agent name or id.')
    .option('--title <text>', 'Title of the conversation.')
    .option('--model <handle>', 'Model for this conversation only, as provider/model.')
    .example('conversations new --agent ada --title "About tea"')
    .action(async (flags) => (await load()).create(flags, cli))
  conversations
    .command('rename')
    .description('Change the title of a conversation.')
    .argument(...which)
    .argument('<title>', 'The new title.')
    .example('conversations rename ada "About tea"')
    .action(async (conversation, title, flags) => (await load()).change(conversation, { ...flags, title }, cli))
  conversations
    .command('update')
    .description('Change a conversation.')
    .argument(...which)
    .option('--title <text>', 'Title of the conversation.')
    .option('--description <text>', 'What the conversation is about.')
    .option('--model <handle>', 'Model for this conversation only, as provider/model, or none for that of the agent.')
    .option('--archive', 'Leave the conversation out of lists.')
    .option('--unarchive', 'Put the conversation into lists again.')
    .example('conversations update ada --model scripted/friendly')
    .action(async (conversation, flags) => (await load()).change(conversation, flags, cli))
  conversations
    .command('delete')
    .description('Delete a conversation with its runs and its workspace.')
    .argument(...which)
    .option('--yes', 'Do not ask for confirmation.')
    .example('conversations delete conv-3f2a91bc --yes')
    .action(async (conversation, flags) => ends(await (await load()).remove(conversation, flags, cli)))
  conversations
    .command('fork')
    .description('Create another conversation that begins with the same messages.')
    .argument(...which)
    .option('--at <message>', 'Id of the last message to copy. Default: all messages.')
    .option('--title <text>', 'Title of the new conversation.')
    .example('conversations fork ada --title "Another way"')
    .action(async (conversation, flags) => (await load()).fork(conversation, flags, cli))
  conversations
    .command('compact')
    .description('Summarize a conversation, so that the model sees less. The messages stay readable.')
    .argument(...which)
    .example('conversations compact ada')
    .action(async (conversation, flags) => (await load()).compact(conversation, flags, cli))
  conversations
    .command('reset')
    .description('Empty what the model sees of the default conversation of an agent.')
    .argument(...which)
    .option('--yes', 'Do not ask for confirmation.')
    .example('conversations reset ada --yes')
    .action(async (conversation, flags) => ends(await (await load()).reset(conversation, flags, cli)))
  conversations
    .command('export')
    .description('Print a whole conversation as Markdown or JSON, or write it to a file.')
    .argument(...which)
    .option('--format <format>', 'markdown or json. Default: by the end of the file name, or markdown.')
    .option('--file <path>', 'File to write. Default: stdout.')
    .option('--force', 'Replace the file if it exists.')
    .example('conversations export ada --file ada.md')
    .action(async (conversation, flags) =>
      (await import('../commands/conversation-export.ts')).exportOne(conversation, flags, cli),
    )
}
