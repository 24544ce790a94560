export type Area = 'files' | 'environment' | 'network' | 'processes' | 'kernel'

/** One try to get at something that is not the workspace's own. */
export type Probe = {
  area: Area
  tries: string
  /** For bash. What it says tells whether it got through. */
  command(outside: Outside): string
  /** How it looks when it did. */
  success: RegExp
  /**
   * Who gets through where there are no walls: tried there too, since a probe that never can succeed proves nothing. Left out
   * where that would do harm, or depends on the machine.
   */
  open?: 'anybody' | 'root'
}

/** What there is on the machine to be got at. */
export type Outside = {
  /** A word that is in everything a probe must not see. */
  canary: string
  /** Of the server: with a key, a database, settings and the workspaces. */
  home: string
  neighbor: { file: string; socket: string }
  ownSocket: string
  /** Each says the canary to whoever connects. */
  listeners: { port: number; abstract: string; path: string }
  /** A process that is nobody's here, with the canary in its parameters and in its environment. */
  bystander: number
  /** As it is called where the probe runs. */
  node: string
  /** Whoever watches over the probe where it is held; elsewhere somebody whom it does no harm. */
  watcher: string
}

export const GOT = /^GOT/m

export const isRoot = process.geteuid?.() === 0

/** One parameter of a shell, whatever is in it. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
