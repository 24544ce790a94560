import { z } from 'zod'

export const deletedSchema = z.lazy(() => z.object({ message: z.string().describe('Says what was deleted.') }))
