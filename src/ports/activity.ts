/** Notes what the process begins, so that a freeze of its event loop can be explained. It must cost next to nothing. */
export type Activity = { note(what: string): void }
