type Surroundings = {
  environment: { readonly [name: string]: string | undefined }
  /** URL of a source file of the CLI. */
  source: string
  /** Path of the program as it was started. */
  started: string
}

/** Scripts of a checkout that are shorter than `npm run holdfast --`. */
const SCRIPTS: Readonly<Record<string, string>> = { chat: 'npm run chat', serve: 'npm start' }

/** What starts a command of Holdfast in the place where this process was started. */
export function commandForm({ environment, source, started }: Surroundings): (command: string) => string {
  // The package has JavaScript only.
  if (source.endsWith('.ts')) return (command) => SCRIPTS[command] ?? `npm run holdfast -- ${command}`
  const isNpx = environment.npm_command === 'exec' || environment.npm_lifecycle_event !== undefined
  const isLocal = isNpx || started.includes('/node_modules/.bin/')
  return (command) => (isLocal ? `npx holdfast ${command}` : `holdfast ${command}`)
}

/** A command line that works where this process was started, for messages: `commandLine('runs show RUN')`. */
export const commandLine = commandForm({
  environment: process.env,
  source: import.meta.url,
  started: process.argv[1] ?? '',
})

/** Messages of other rooms name commands as `holdfast …` in backticks, as the documentation does. */
export const runnable = (text: string): string =>
  text.replace(/`holdfast ([^`]+)`/g, (_, command: string) => `\`${commandLine(command)}\``)
