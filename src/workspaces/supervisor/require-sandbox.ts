import { readdirSync, readFileSync } from 'node:fs'

/** Ends this process, saying why, unless it is alone with its first process in a namespace and nothing was let in with it. */
export function requireSandbox(): void {
  // Signals to everybody are for a process table of our own only.
  if (process.ppid !== 1) refuse('the supervisor was started outside of its sandbox')
  const inherited = readdirSync('/proc/1/fd').filter((name) => Number(name) > LAST_OF_OURS && !isClosedOnExec(name))
  if (inherited.length > 0)
    refuse(
      `descriptors of the server came along (${inherited.join(', ')}); with bash installed they are closed on the way`,
    )
}

/** Input, output, error and the socket. */
const LAST_OF_OURS = 3
const CLOSE_ON_EXEC = 0o2000000

function isClosedOnExec(name: string): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/1/fdinfo/${name}`, 'latin1'))?.[1]
    return (Number.parseInt(flags ?? '0', 8) & CLOSE_ON_EXEC) !== 0
  } catch {
    return true
  }
}

function refuse(why: string): never {
  process.stderr.write(`${why}\n`)
  process.exit(1)
}
