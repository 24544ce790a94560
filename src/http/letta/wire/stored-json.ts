import { z } from 'zod'

/** JSON that Holdfast stores and gives back as it came. */
export const storedJson = z.unknown()

export const storedObject = z.record(z.string(), z.unknown())
