import type { CommandDeps } from '../command-deps.ts'
import type { HoldfastCommand } from '../holdfast-command.ts'

export function addBackups(program: HoldfastCommand, { cli, ends }: CommandDeps): void {
  const load = () => import('../commands/backup.ts')
  program
    .command('backup')
    .description(
      'Write everything that must survive into one file (tar, gzip), also while the server runs. The file holds the ' +
        'API key of the server: keep it private.',
    )
    .example('backup /backups/holdfast.tar.gz')
    .argument('<file>', 'File to write, outside the home.')
    .option('--force', 'Replace the file if it exists.')
    .option('--with-secret-key', 'Include secret.key, which decrypts all stored credentials.')
    .option('--without-workspaces', 'Leave out files and process output of workspaces.')
    .action(async (file, flags) => ends(await (await load()).backup(file, flags, cli)))
  program
    .command('restore')
    .description('Restore a backup onto an empty home, which HOLDFAST_HOME names, after checking all of it.')
    .example('restore /backups/holdfast.tar.gz')
    .argument('<file>', 'File that `holdfast backup` wrote.')
    .action(async (file, flags) => ends(await (await load()).restore(file, flags, cli)))
}
