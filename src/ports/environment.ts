/** Environment variables of a process, or a test replacement. */
export type Environment = Readonly<Record<string, string | undefined>>
