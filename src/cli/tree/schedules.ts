import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

export function addSchedules(program: HoldfastCommand, { cli }: Pick<CommandDeps, 'cli'>): void {
  const load = () => import('../commands/schedules.ts')
  const schedules = program
    .command('schedules')
    .description('Send messages to agents at times, and see what became of it.')
  const one = ['<schedule>', 'Schedule name, id, or the beginning of an id.'] as const
  schedules
    .command('list', { isDefault: true })
    .description('List schedules with their next instant.')
    .example('schedules')
    .option('--agent <agent>', 'Only those of this agent.')
    .action(async (flags) => (await load()).listAll(flags, cli))
  schedules
    .command('show')
    .description('Show a schedule and what became of its last instants.')
    .example('schedules show report')
    .argument(...one)
    .action(async (which, flags) => (await load()).show(which, flags, cli))
  schedules
    .command('create')
    .description('Create a schedule. Calls that need approval are denied, unless --on-guarded is ask.')
    .example(`schedules create ada "Write the report of the day." --cron "0 18 * * mon-fri" --timezone Europe/Berlin`)
    .example('schedules create ada "Look at the queue." --every 15m --quiet 22:00-07:00 --name queue')
    .example('schedules create ada "Wish Tom a happy birthday." --at 2027-03-01T09:00:00Z')
    .argument('<agent>', 'Agent name, id, or the beginning of an id.')
    .argument('<message>', 'What the agent is sent.')
    .option('--at <time>', 'Fire once at this time, such as 2027-03-01T09:00:00Z.')
    .option('--every <interval>', 'Fire at this interval, such as 90s, 15m, 6h or 7d; at least 60s.')
    .option('--cron <expression>', 'Fire by a cron expression of five fields.')
    .option('--timezone <zone>', 'Time zone of --cron and --quiet. Default: UTC.')
    .option('--name <name>', 'Name of the schedule.')
    .option('--conversation <id>', 'A conversation of the agent. Default: its default conversation.')
    .option('--quiet <hours>', 'Skip instants in these hours, such as 22:00-07:00.')
    .option('--ends <time>', 'No instant is later than this.')
    .option('--grace <interval>', 'How late an instant may still fire, such as 10m. Default: 1h.')
    .option('--no-coalesce', 'Fire every late instant, not only the last one.')
    .option('--model <model>', 'Model of its runs, as provider/model.')
    .option('--on-guarded <what>', 'What happens to calls that need approval: deny or ask.', 'deny')
    .action(async (agent, message, flags) => (await load()).create(agent, message, { flags, cli }))
  schedules
    .command('pause')
    .description('Pause a schedule. Its instants are skipped until it is resumed.')
    .example('schedules pause report')
    .argument(...one)
    .action(async (which, flags) => (await load()).setPaused(which, { flags, cli, verb: 'pause' }))
  schedules
    .command('resume')
    .description('Resume a paused schedule.')
    .example('schedules resume report')
    .argument(...one)
    .action(async (which, flags) => (await load()).setPaused(which, { flags, cli, verb: 'resume' }))
  schedules
    .command('run-now')
    .description('Fire a schedule once, outside its timing. A running server carries out the run.')
    .example('schedules run-now report')
    .argument(...one)
    .action(async (which, flags) => (await load()).runNow(which, flags, cli))
  schedules
    .command('history')
    .description('Show what became of each instant: fired with its run, missed, skipped or refused with the reason.')
    .example('schedules history report --limit 100')
    .argument(...one)
    .option('--limit <number>', 'Maximum number of entries, 1 to 1000.', '30')
    .action(async (which, flags) => (await load()).history(which, flags, cli))
  schedules
    .command('delete')
    .description('Delete a schedule and its history. Its runs stay.')
    .example('schedules delete report --yes')
    .argument(...one)
    .option('--yes', 'Delete without asking.')
    .action(async (which, flags) => (await load()).remove(which, flags, cli))
}
