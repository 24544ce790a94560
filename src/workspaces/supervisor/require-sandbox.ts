import { readdirSync, readFileSync } from 'node:fs'

/** Exits with a reason unless this process is a child of pid 1 in its own namespace, without inherited descriptors. */
export function requireSandbox(): void {
  // The supervisor signals all processes (pid -1), which is safe only in its own pid namespace.
  if (process.ppid !== 1) exitWithReason('the supervisor was started outside its sandbox')
  const inherited = readdirSync('/proc/1/fd').filter(
    (name) => Number(name) > LAST_OWN_DESCRIPTOR && !isClosedOnExec(name),
  )
  if (inherited.length > 0)
    exitWithReason(
      `the supervisor inherited descriptors of the server (${inherited.join(', ')}); install bash, which closes them`,
    )
}

/** Descriptors 0 to 3: input, output, error and the socket. */
const LAST_OWN_DESCRIPTOR = 3
const CLOSE_ON_EXEC = 0o2000000

function isClosedOnExec(name: string): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/1/fdinfo/${name}`, 'latin1'))?.[1]
    return (Number.parseInt(flags ?? '0', 8) & CLOSE_ON_EXEC) !== 0
  } catch {
    return true
  }
}

function exitWithReason(why: string): never {
  process.stderr.write(`${why}\n`)
  process.exit(1)
}
