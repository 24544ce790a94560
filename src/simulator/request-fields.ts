import type { Json } from '../core/json.ts'

/** A JSON object, read without trusting its shape. */
export type Fields = { [key: string]: Json | undefined }

export const asObject = (value: Json | undefined): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
export const asList = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])
export const asText = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
export const asNumber = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined)
