import { z } from 'zod'

/** JSON that Holdfast stores and returns as it was sent. */
export const storedJson = z.unknown()

export const storedObject = z.record(z.string(), z.unknown())
