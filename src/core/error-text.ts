/** The message of a caught value, which may be any type. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** As `errorText`, with the name of the error in front: `TypeError: x is not a function`. */
export const namedErrorText = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error)
