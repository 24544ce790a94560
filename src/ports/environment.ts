/** The environment variables of a process, or a stand-in for them. */
export type Environment = Readonly<Record<string, string | undefined>>
