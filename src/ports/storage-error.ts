export type StorageFault =
  | 'full'
  | 'busy'
  | 'read-only'
  | 'corrupt'
  | 'newer-version'
  | 'unreleased-version'
  | 'owned'
  | 'unreachable'
  /** The commit may or may not have happened: read before writing again. */
  | 'outcome-unknown'

/** Faults that may pass: the writer keeps what it has in memory and tries again. */
const TRANSIENT: Record<StorageFault, boolean> = {
  full: true,
  busy: true,
  'read-only': true,
  unreachable: true,
  'outcome-unknown': true,
  corrupt: false,
  'newer-version': false,
  'unreleased-version': false,
  owned: false,
}

/** The store could not do its work. The message says what, where and what to do. */
export class StorageError extends Error {
  readonly fault: StorageFault
  constructor(fault: StorageFault, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StorageError'
    this.fault = fault
  }
  get isTransient(): boolean {
    return TRANSIENT[this.fault]
  }
}
