import { readIfPresentSync } from './read-if-present.ts'

/** Id of the current boot of the machine, from Linux; empty on other systems. */
export const bootId = (): string => readIfPresentSync('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
