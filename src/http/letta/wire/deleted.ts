import { z } from 'zod'

export const deletedSchema = z.object({ message: z.string().describe('Says what was deleted.') })
