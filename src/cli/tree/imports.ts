import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

export function addImports(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('../commands/imports.ts')
  const which = ['[import]', 'Id of the import, or its source. Default: the newest one.'] as const
  const imports = program
    .command('import')
    .description('Move a whole retired Letta server, or an export of Holdfast, into this home.')
  imports
    .command('start', { isDefault: true })
    .description(
      'Import everything from an old server that still runs (0.8 to 0.16), or from a file of `holdfast export`. Run it ' +
        'again to go on after an interruption, or to bring what is new. Exit code 0 if nothing is missing without a reason.',
    )
    .argument('<source>', 'Address, such as http://old-server:8283, or file.')
    .option('--key <password>', 'Password of the old server, or - to read it from stdin.')
    .option('--agent <name...>', 'Only these agents (names or ids), with their tools and blocks.')
    .option('--rate <number>', 'Most requests per second to the old server.')
    .option('--dry-run', 'Count and report only; import nothing.')
    .example('import http://127.0.0.1:8284', 'import http://127.0.0.1:8284 --dry-run', 'import everything.jsonl')
    .action(async (source, flags) => ends(await (await load()).start(source, flags, cli)))
  imports
    .command('list')
    .description('List imports, newest first.')
    .example('import list')
    .action(async (flags) => (await load()).listAll(flags, cli))
  imports
    .command('show')
    .description('Show the report of an import: both sides compared, and what was not carried over, with its reason.')
    .argument(...which)
    .example('import show')
    .action(async (which, flags) => ends(await (await load()).show(which, flags, cli)))
  imports
    .command('stop')
    .description('Stop a running import. The command that started it goes on with it.')
    .argument(...which)
    .example('import stop')
    .action(async (which, flags) => (await load()).stop(which, flags, cli))
  program
    .command('export')
    .description(
      'Write everything of an organization to a file of JSON lines that `holdfast import` reads: agents, blocks, tools, ' +
        'MCP servers, conversations, messages, passages with their vectors. The format is in docs/export-format.md.',
    )
    .argument('<file>', 'File to write.')
    .option('--with-secrets', 'Write secrets of agents and MCP servers too, in clear. Without it, only their names.')
    .option('--force', 'Replace the file if it exists.')
    .example('export everything.jsonl')
    .action(async (file, flags) => ends(await (await load()).exportAll(file, flags, cli)))
}
