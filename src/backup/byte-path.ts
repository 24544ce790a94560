/**
 * A path or file name with one character for each byte: an agent may name a file in any encoding, and a backup must not
 * change or lose it.
 */
export type BytePath = string

export const bytesOf = (path: BytePath): Buffer => Buffer.from(path, 'latin1')

export const bytePathOf = (bytes: Buffer | string): BytePath =>
  (typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : bytes).toString('latin1')

/** For messages. */
export const readablePath = (path: BytePath): string => bytesOf(path).toString('utf8')
