export type Area = 'files' | 'environment' | 'network' | 'processes' | 'kernel'

/** One attempt to reach something outside the workspace. */
export type Probe = {
  area: Area
  tries: string
  /** A bash command; its output shows whether the attempt succeeded. */
  command(outside: Outside): string
  /** Matches the output of a successful attempt. */
  success: RegExp
  /**
   * Which user succeeds without a sandbox: tested too, because a probe that can never succeed proves nothing. Absent
   * where the attempt would do harm or depends on the machine.
   */
  open?: 'any-user' | 'root'
}

/** Targets on the machine. */
export type Outside = {
  /** A word in everything that a probe must not see. */
  canary: string
  /** The server's home, with a key, a database, settings and the workspaces. */
  home: string
  neighbor: { file: string; socket: string }
  ownSocket: string
  /** Each sends the canary to every client. */
  listeners: { port: number; abstract: string; path: string }
  /** A process of the machine, with the canary in its parameters and its environment. */
  bystander: number
  /** The path of Node where the probe runs. */
  node: string
  /** The supervisor's pid in a sandbox; elsewhere that of a harmless process. */
  watcher: string
}

export const GOT = /^GOT/m

export const isRoot = process.geteuid?.() === 0

/** Any text, quoted as one argument of a shell. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
