import { z } from 'zod'

// The message of each schema names the expected value, for "expected text, found 3".

export const text = z.string('text')
export const flag = z.boolean('true or false')
export const headers = z.record(z.string(), text, 'an object of texts')

export function wholeNumber(least: number) {
  const expected = `a whole number from ${least}`
  return z.int(expected).min(least, expected)
}

export const oneOf = <const Words extends readonly string[]>(words: Words) =>
  z.enum(words, `one of ${words.map((word) => `"${word}"`).join(', ')}`)

export const list = <Item extends z.ZodType>(item: Item, what: string) => z.array(item, `a list of ${what}`)

/** An object that has these fields and no others. */
export function fields<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape).join(', ')
  return z.strictObject(shape, {
    error: ({ code }) => (code === 'unrecognized_keys' ? `one of these fields: ${names}` : `an object of ${names}`),
  })
}

/** Chooses the schema by the value, so that errors refer to the variant that was meant. */
export function dependingOn<Schema extends z.ZodType>(choose: (value: unknown) => Schema) {
  return z
    .custom<z.output<Schema>>(() => true)
    .check(({ value, issues }) => {
      const { error } = choose(value).safeParse(value, { reportInput: true })
      issues.push(...((error?.issues ?? []) as z.core.$ZodRawIssue[]))
    })
}
