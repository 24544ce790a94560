import type { LastBackup } from '../../ports/backups.ts'
import { commandLine } from '../program-name.ts'
import { safeText } from '../terminal.ts'
import { ageText } from './run.ts'

export const lastBackupText = (last: LastBackup | undefined, now: number): string =>
  last
    ? `Last backup ${ageText(now - last.at)} ago: ${safeText(last.file)}`
    : `No backup of this home was made yet: \`${commandLine('backup FILE')}\` makes one.`
