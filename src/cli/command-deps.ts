import type { CliContext } from './cli-context.ts'

/** What the declaration of a command needs: the context of its work, and where its exit code goes. */
export type CommandDeps = { cli: CliContext; ends(code: number): void }
