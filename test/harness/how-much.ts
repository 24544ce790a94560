/** `npm run test:all` tries everything; the test command tries a slice of what is tried by number. */
export const isWhole = process.env.HOLDFAST_TESTS === 'all'

/** How many cases of a property are tried. */
export const cases = (whole: number): number => (isWhole ? whole : Math.ceil(whole / 4))
