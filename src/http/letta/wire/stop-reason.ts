import { z } from 'zod'
import { STATUS_OF_STOP, type StopReason } from '../../../core/run.ts'

export const stopReasonSchema = z.enum(Object.keys(STATUS_OF_STOP) as [StopReason, ...StopReason[]])
