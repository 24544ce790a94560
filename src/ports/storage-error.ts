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

/** Transient faults: the writer keeps its data in memory and retries. */
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

/** A failed store operation. The message names the fault, the location and the way out. */
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
