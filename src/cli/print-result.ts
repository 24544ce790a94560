import { type CliContext, printJson } from './cli-context.ts'

export type JsonFlag = { json?: boolean }

/** The result of a command that changed something: a sentence for people, an object with `--json`. */
export function printResult(
  { out }: Pick<CliContext, 'out'>,
  { json }: JsonFlag,
  { sentence, value }: { sentence: string; value: unknown },
): void {
  if (json) printJson(out, value)
  else out.line(sentence)
}
