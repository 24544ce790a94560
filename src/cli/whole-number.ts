import { Problem } from '../core/problem.ts'

/** The value of an option that counts something. */
export function wholeNumber(flag: string, text: string, { from, to }: { from: number; to: number }): number {
  const value = Number(text)
  if (text.trim() !== '' && Number.isInteger(value) && value >= from && value <= to) return value
  throw new Problem('invalid', `${flag} must be a whole number from ${from} to ${to}, not "${text}".`)
}
