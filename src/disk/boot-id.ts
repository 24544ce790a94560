import { readIfPresentSync } from './read-if-present.ts'

/** Linux names each start of the machine; empty on other systems. */
export const bootId = (): string => readIfPresentSync('/proc/sys/kernel/random/boot_id')?.trim() ?? ''
